{{/* Egress of operator and API alike: names, and the ports of the API server. A policy cannot
     name a host, and the API server's address differs from cluster to cluster. */}}
{{- define "foundry.egress" -}}
- to:
    - namespaceSelector:
        matchLabels: {kubernetes.io/metadata.name: kube-system}
      podSelector:
        matchLabels: {k8s-app: kube-dns}
    {{- range .Values.networkPolicy.dnsAddresses }}
    - ipBlock: {cidr: "{{ . }}/{{ if contains ":" . }}128{{ else }}32{{ end }}"}
    {{- end }}
  ports:
    - {port: {{ .Values.networkPolicy.dnsPort }}, protocol: UDP}
    - {port: {{ .Values.networkPolicy.dnsPort }}, protocol: TCP}
- to:
    # Not the address of the cloud's metadata.
    - ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}
    - ipBlock: {cidr: "::/0", except: ["fe80::/10", "fd00:ec2::254/128"]}
  ports:
    {{- range .Values.networkPolicy.outPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end }}
