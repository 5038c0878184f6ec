{{- define "orbweaver.name" -}}
{{- if contains "orbweaver" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-orbweaver" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "orbweaver.selector" -}}
app.kubernetes.io/name: orbweaver
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "orbweaver.labels" -}}
{{ include "orbweaver.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}
