/** Figures for lib/README.md, measured on the deployment. */
import { tokensOf } from '../fixtures/given-tokens.ts'
import { OPEN } from './assembly.ts'
import type { Cloud } from './cloud.ts'
import { coldStarts } from './cold-starts.ts'
import { consumption } from './consumption.ts'
import { exportCost } from './export-cost.ts'
import { indexLag } from './index-lag.ts'

export async function printFigures(cloud: Cloud): Promise<void> {
  const { baseUrl, searchEndpoint } = cloud
  const lagRow = async (where: string) =>
    `| ${where} | ${await indexLag(baseUrl, searchEndpoint, 1)} | ${await indexLag(baseUrl, searchEndpoint, 4)} |`
  await cloud.fresh({ settings: OPEN })
  const lags = [await lagRow('deployed on MiniStack')]
  // Who verifies tokens looks at revocations every three seconds: how often in a sample the machine would decide.
  const here = (await cloud.fresh({ settings: OPEN, here: true }))!
  lags.push(await lagRow('functions in processes of their own'))
  const title = (text: string) => `\n${text}\n`
  console.log(title('Index lag, from the answer to a write to its document: median and 95th percentile in ms'))
  console.log(['| where | one client | four clients |', '|---|---|---|', ...lags].join('\n'))
  console.log(title('Consumption, computed from what was sent and answered, for an Observation of 1.3 kB'))
  console.log((await consumption(here, baseUrl)).join('\n'))
  console.log(title('An export, computed in the same way'))
  console.log((await exportCost(cloud)).join('\n'))
  console.log(title('Cold starts: a fresh process on this machine loads the bundle and answers its first request'))
  const home = (await cloud.fresh({ here: true, settings: { FHIR_EXPORT_NEEDS_ASSERTION: 'off' } }))!
  const administrator = cloud.administrator()!
  console.log((await coldStarts(home.hosted, administrator, await tokensOf(baseUrl, administrator)())).join('\n'))
}
