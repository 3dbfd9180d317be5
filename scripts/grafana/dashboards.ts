import { account } from './account.ts';
import { operations } from './operations.ts';
import { overview } from './overview.ts';

const FOLDER = 'config/grafana/dashboards';

/** The dashboards as files for Grafana's provisioning: paths from the root, with their text. */
export function dashboardFiles(): Readonly<Record<string, string>> {
  const dashboards = { overview: overview(), account: account(), operations: operations() };
  return Object.fromEntries(
    Object.entries(dashboards).map(([name, dashboard]) => [
      `${FOLDER}/${name}.json`,
      `${JSON.stringify(dashboard, undefined, 2)}\n`,
    ]),
  );
}
