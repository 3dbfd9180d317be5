/** Prometheus rule files, by the name of the PrometheusRule object made from each. */
const RULE_FILES = {
  'breakwater-recording': 'config/prometheus/rules/recording.yml',
  'breakwater-alerts': 'config/prometheus/rules/alerts.yml',
};

/** The rules as objects of the Prometheus operator: kustomize cannot make these from files. */
export function prometheusRules(read: (file: string) => string): string {
  const objects = Object.entries(RULE_FILES).map(([name, file]) => {
    const lines = read(file).trimEnd().split('\n');
    const groups = lines.slice(lines.indexOf('groups:')).map((line) => (line === '' ? '' : `  ${line}`));
    return [
      `# ${file}`,
      'apiVersion: monitoring.coreos.com/v1',
      'kind: PrometheusRule',
      'metadata:',
      `  name: ${name}`,
      'spec:',
      ...groups,
    ].join('\n');
  });
  return `# Made by \`npm run generate\`: change the files named here.\n${objects.join('\n---\n')}\n`;
}
