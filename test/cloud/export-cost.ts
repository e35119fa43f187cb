/** What an export consumes, from the calls of its steps, and what a million resources cost. */
import { setTimeout as wait } from 'node:timers/promises'
import { PRICES as LIST } from '../../lib/model/prices.ts'
import { OPEN_ACCESS } from './assembly.ts'
import type { Tree } from './aws-calls.ts'
import type { Cloud } from './cloud.ts'
import { observation, PRICES } from './consumption.ts'
import { resultOf } from './custom-resource.ts'
import { jobIdOf, RESPOND_ASYNC } from './exports.ts'
import type { RecordedCall } from './recorder.ts'
import { UnitMeter } from './units.ts'

const [TRANSACTIONS, ENTRIES] = [10, 200]
const RESOURCES = TRANSACTIONS * ENTRIES
const MILLION = 1_000_000
/** Resources of a segment, and its transitions, where each of them is tried twice. */
const [SEGMENT, TRANSITIONS_EACH] = [50_000, 6]
/** Of a plan, a choice and a wait, as often as it waits at most; and of what comes once. */
const TRANSITIONS_ONCE = 3 * 15 + 10
/**
 * GB of a writer, and resources of about 1.3 kB it writes in a second: assumed, for what runs on a shared machine says nothing about Lambda. Bytes
 * of a part; days for which files stay, by default.
 */
const [GIGABYTES, EACH_SECOND, PART, DAYS] = [1.77, 2_000, 8 * 1024 * 1024, 10]

/** On a fresh deployment that lets everybody in. */
export async function measureExportCost({ fresh, baseUrl }: Pick<Cloud, 'fresh' | 'baseUrl'>): Promise<readonly string[]> {
  const { hosted, recorder } = (await fresh({ here: true, settings: { ...OPEN_ACCESS, FHIR_EXPORT_NEEDS_ASSERTION: 'off' } }))!
  const meter = new UnitMeter()
  const takeCalls = (): readonly MeteredCall[] => recorder.take().map((call) => ({ call, ...meter.unitsOf(call) }))
  takeCalls()
  const bytes = await written(baseUrl)
  const response = await sent(`${baseUrl}/$export?_type=Observation`, { headers: RESPOND_ASYNC })
  const jobInput = { job: jobIdOf(response.headers.get('content-location')!), attempt: 1 }
  const step = async (input: object): Promise<Tree> => resultOf(await hosted.host.invoke('export-step', { ...input, ...jobInput }))
  let planned = await step({ action: 'plan' })
  while (planned.wait > 0) {
    await wait(planned.wait * 1_000)
    // The wait for what was written before is that of any export, however large.
    takeCalls()
    planned = await step({ action: 'plan' })
  }
  for (const segment of planned.segments) while ((await step({ action: 'write', segment })).more);
  const { ranges } = await step({ action: 'gather' })
  if (ranges.length > 0) throw new Error(`an export of everything collects nothing: ${ranges}`)
  await step({ action: 'finish' })
  const { complete, ...status } = await jobOf(baseUrl, jobInput.job)
  if (complete !== RESOURCES) throw new Error(`${complete} of ${RESOURCES} are exported: ${JSON.stringify(status)}`)
  return rows(
    takeCalls().filter(({ call }) => call.caller === 'export-step'),
    bytes / RESOURCES,
  )
}

/** Bytes of all resources that were written. */
async function written(baseUrl: string): Promise<number> {
  let bytes = 0
  for (let i = 0; i < TRANSACTIONS; i++) {
    const entry = Array.from({ length: ENTRIES }, (_, n) => {
      const resource = observation(`x-${i}-${n}`)
      bytes += JSON.stringify(resource).length
      return { resource, request: { method: 'PUT', url: `Observation/${resource.id}` } }
    })
    const body = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
    await sent(baseUrl, { method: 'POST', headers: { 'content-type': 'application/fhir+json' }, body })
  }
  return bytes
}

async function jobOf(baseUrl: string, job: string): Promise<Tree> {
  const manifest: Tree = await (await sent(`${baseUrl}/export/${job}`)).json()
  return { ...manifest, complete: manifest.output.reduce((sum: number, { count }: Tree) => sum + count, 0) }
}

type MeteredCall = { readonly call: RecordedCall; readonly reads: number; readonly writes: number }

function rows(seen: readonly MeteredCall[], size: number): readonly string[] {
  const each = (count: (one: MeteredCall) => number): number => seen.reduce((total, one) => total + count(one), 0) / RESOURCES
  const [reads, writes] = [each((one) => one.reads), each((one) => one.writes)]
  const segments = MILLION / SEGMENT
  const puts = (MILLION * size) / PART + 4 * segments
  const transitions = segments * TRANSITIONS_EACH + TRANSITIONS_ONCE
  const dollars = {
    [`${reads.toFixed(2)} read units each`]: reads * PRICES.reads,
    [`${writes.toFixed(4)} write units each`]: writes * PRICES.writes,
    [`${GIGABYTES} GB for ${MILLION / EACH_SECOND} s`]: ((GIGABYTES * MILLION) / EACH_SECOND / MILLION) * PRICES.gigabyteSeconds,
    [`${Math.round(puts)} requests of S3`]: (puts * PRICES.s3Write) / MILLION,
    [`${transitions} state transitions`]: (transitions * LIST.transition) / MILLION,
    [`${(size / 1_000).toFixed(1)} GB for ${DAYS} days`]: (size / 1_000) * LIST.object * (DAYS / 30),
  }
  const calls = ['dynamodb', 's3', 'es'].map((service) => `${seen.filter(({ call }) => call.service === service).length} of ${service}`)
  return [
    `${RESOURCES} resources of ${Math.round(size)} bytes: calls ${calls.join(', ')}`,
    '| a million resources | dollars |',
    '|---|---|',
    ...Object.entries(dollars).map(([name, price]) => `| ${name} | ${price.toFixed(4)} |`),
    `| all | ${Object.values(dollars)
      .reduce((all, price) => all + price, 0)
      .toFixed(2)} |`,
  ]
}

async function sent(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init)
  if (response.status >= 300) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response
}
