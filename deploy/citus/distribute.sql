-- Turns a new, empty database of Orbweaver into one that Citus distributes by project. docs/postgresql.md says
-- when and how to run it, and what has been tested.
--
-- Citus' shards take the place of the hash partitions: a partitioned table of one level can be
-- distributed, but its shards would each have all of the partitions. So each of these tables is
-- made anew without them. The request log keeps its partitions by day.

\set ON_ERROR_STOP on

BEGIN;

DO $$
DECLARE
    parent TEXT;
BEGIN
    IF EXISTS (SELECT 1 FROM projects) THEN
        RAISE EXCEPTION 'the database has projects already: this is for new ones';
    END IF;
    FOREACH parent IN ARRAY ARRAY[
        'blobs', 'pages', 'page_links', 'page_records', 'frontier', 'run_errors', 'run_reports',
        'usage_events', 'search_docs', 'search_index'
    ] LOOP
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', parent || '_whole', parent);
        EXECUTE format('DROP TABLE %I CASCADE', parent);
        EXECUTE format('ALTER TABLE %I RENAME TO %I', parent || '_whole', parent);
    END LOOP;
END $$;

-- On every node: what statements of one project join with the project's rows.
SELECT create_reference_table('projects');
SELECT create_reference_table('runs');
SELECT create_reference_table('segments');

-- By project; the shards of one project are on one node.
SELECT create_distributed_table('blobs', 'project_id', colocate_with => 'none');
SELECT create_distributed_table('pages', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('page_links', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('page_records', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('frontier', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('run_errors', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('run_reports', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('usage_events', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('search_docs', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('search_index', 'project_id', colocate_with => 'blobs');
SELECT create_distributed_table('request_log', 'project_id', colocate_with => 'blobs');

-- All other tables stay on the coordinator.

ALTER TABLE blobs ADD CONSTRAINT blobs_project
    FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE;
ALTER TABLE blobs ADD CONSTRAINT blobs_segment_row
    FOREIGN KEY (segment_id) REFERENCES segments (id);
ALTER TABLE pages ADD CONSTRAINT pages_project
    FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE;
ALTER TABLE pages ADD CONSTRAINT pages_body
    FOREIGN KEY (blob_id, project_id) REFERENCES blobs (id, project_id);
ALTER TABLE page_links ADD CONSTRAINT page_links_page
    FOREIGN KEY (page_id, project_id) REFERENCES pages (id, project_id) ON DELETE CASCADE;
ALTER TABLE page_records ADD CONSTRAINT page_records_page
    FOREIGN KEY (page_id, project_id) REFERENCES pages (id, project_id) ON DELETE CASCADE;
ALTER TABLE usage_events ADD CONSTRAINT usage_events_project
    FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE;
ALTER TABLE search_docs ADD CONSTRAINT search_docs_project
    FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE;
ALTER TABLE search_docs ADD CONSTRAINT search_docs_page
    FOREIGN KEY (page_id, project_id) REFERENCES pages (id, project_id) ON DELETE CASCADE;
ALTER TABLE search_index ADD CONSTRAINT search_index_doc
    FOREIGN KEY (page_id, project_id) REFERENCES search_docs (page_id, project_id) ON DELETE CASCADE;

COMMIT;
