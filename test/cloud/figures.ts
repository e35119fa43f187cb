/** Figures for lib/docs/cost.md, measured on the deployment. */
import { tokenProviderOf } from '../fixtures/token-provider.ts'
import { OPEN_ACCESS } from './assembly.ts'
import type { Cloud } from './cloud.ts'
import { measureColdStarts } from './cold-starts.ts'
import { measureConsumption } from './consumption.ts'
import { measureExportCost } from './export-cost.ts'
import { measureIndexLag } from './index-lag.ts'

export async function printFigures(cloud: Cloud): Promise<void> {
  const { baseUrl, searchEndpoint } = cloud
  const lagRow = async (name: string) =>
    `| ${name} | ${await measureIndexLag(baseUrl, searchEndpoint, 1)} | ${await measureIndexLag(baseUrl, searchEndpoint, 4)} |`
  await cloud.fresh({ settings: OPEN_ACCESS })
  const lags = [await lagRow('deployed on MiniStack')]
  // Who verifies tokens looks at revocations every three seconds: how often in a sample the machine would decide.
  const localCloud = (await cloud.fresh({ settings: OPEN_ACCESS, here: true }))!
  lags.push(await lagRow('functions in processes of their own'))
  const title = (text: string) => `\n${text}\n`
  console.log(title('Index lag, from the answer to a write to its document: median and 95th percentile in ms'))
  console.log(['| where | one client | four clients |', '|---|---|---|', ...lags].join('\n'))
  console.log(title('Consumption, computed from what was sent and answered, for an Observation of 1.3 kB'))
  console.log((await measureConsumption(localCloud, baseUrl)).join('\n'))
  console.log(title('An export, computed in the same way'))
  console.log((await measureExportCost(cloud)).join('\n'))
  console.log(title('Cold starts: a fresh process on this machine loads the bundle and answers its first request'))
  const deployment = (await cloud.fresh({ here: true, settings: { FHIR_EXPORT_NEEDS_ASSERTION: 'off' } }))!
  const administrator = cloud.administrator()!
  console.log((await measureColdStarts(deployment.hosted, administrator, await tokenProviderOf(baseUrl, administrator)())).join('\n'))
}
