-- What the last hours cost in the cloud; most events cost nothing there.
CREATE INDEX usage_events_cloud ON usage_events (project_id, ts) WHERE cloud_pages > 0;
