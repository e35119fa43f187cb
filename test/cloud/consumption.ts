/** What each interaction consumes, from the calls of the function that answered it, and what a million of them costs. */
import { PRICES as LIST } from '../../lib/model/prices.ts'
import { LOG_KB } from '../../lib/model/request-work.ts'
import type { Tree } from './aws-calls.ts'
import type { LocalDeployment } from './local-deployment.ts'
import type { RecordedCall } from './recorder.ts'
import { UnitMeter } from './units.ts'

/** Dollars per million. */
export const PRICES = {
  gateway: LIST.api,
  invocation: LIST.invocation,
  gigabyteSeconds: LIST.computing * 1_000_000,
  writes: LIST.writeUnit,
  reads: LIST.readUnit,
  s3Write: LIST.objectWrite,
  s3Read: LIST.objectRead,
  log: LIST.log * LOG_KB,
}

/** Assumed: GB and ms of a function while it answers. What runs on a shared machine says nothing about Lambda. */
const RUNS = { read: [0.5, 8], write: [1, 25], search: [1, 40], bundle: [1, 60] } as const

type Kind = keyof typeof RUNS

type Sample = { readonly name: string; readonly kind: Kind; readonly caller: string; readonly send: (i: number) => Promise<unknown> }

const REPEATS = 5

export const observation = (id: string): Tree => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  category: [
    { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'vital-signs', display: 'Vital Signs' }] },
  ],
  code: { coding: [{ system: 'http://loinc.org', code: '29463-7', display: 'Body Weight' }], text: 'Body Weight' },
  subject: { reference: 'Patient/58c297c4-d684-4677-8024-01131d93835e', display: 'A patient of some name' },
  encounter: { reference: 'Encounter/5a5d1a52-19f2-4f6c-8d8d-6b6a7d6b6a7d' },
  effectiveDateTime: '2016-03-28T12:00:00-07:00',
  issued: '2016-03-28T12:00:00.000-07:00',
  valueQuantity: { value: 72.5, unit: 'kilograms', system: 'http://unitsofmeasure.org', code: 'kg' },
  note: [{ text: 'Taken at home by the patient with a scale of the practice, after breakfast and in light clothes. '.repeat(3) }],
})

export async function measureConsumption({ recorder }: LocalDeployment, baseUrl: string): Promise<readonly string[]> {
  const send = async (method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(baseUrl + path, { method, headers: { 'content-type': 'application/fhir+json', ...headers }, ...content })
    await response.arrayBuffer()
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status}`)
  }
  const entries = (i: number, count: number) =>
    Array.from({ length: count }, (_, n) => {
      const id = `t-${i}-${count}-${n}`
      return { resource: observation(id), request: { method: 'PUT', url: `Observation/${id}` } }
    })
  const transaction = (i: number, count: number) =>
    send('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry: entries(i, count) })
  const patch = [{ op: 'replace', path: '/status', value: 'amended' }]
  const samples: readonly Sample[] = [
    { name: 'create', kind: 'write', caller: 'create', send: (i) => send('POST', '/Observation', observation(`o-${i}`)) },
    { name: 'update', kind: 'write', caller: 'update', send: (i) => send('PUT', `/Observation/o-${i}`, observation(`o-${i}`)) },
    {
      name: 'patch',
      kind: 'write',
      caller: 'patch',
      send: (i) => send('PATCH', `/Observation/o-${i}`, patch, { 'content-type': 'application/json-patch+json' }),
    },
    {
      name: 'conditional create by an identifier',
      kind: 'write',
      caller: 'create',
      send: (i) => {
        const identified = { ...observation(`i-${i}`), identifier: [{ system: 'urn:example', value: `i-${i}` }] }
        return send('POST', '/Observation', identified, { 'if-none-exist': `identifier=urn:example|i-${i}` })
      },
    },
    {
      name: 'conditional create by other criteria, after 18 writes of the type in a minute',
      kind: 'write',
      caller: 'create',
      send: (i) => send('POST', '/Observation', observation(`c-${i}`), { 'if-none-exist': `encounter=Encounter/none-${i}` }),
    },
    { name: 'read', kind: 'read', caller: 'read', send: (i) => send('GET', `/Observation/o-${i}`) },
    { name: 'vread', kind: 'read', caller: 'vread', send: (i) => send('GET', `/Observation/o-${i}/_history/1`) },
    {
      name: 'history of a resource, 3 versions',
      kind: 'read',
      caller: 'history',
      send: (i) => send('GET', `/Observation/o-${i}/_history`),
    },
    { name: 'transaction of 10 creates', kind: 'bundle', caller: 'bundle', send: (i) => transaction(i, 10) },
    { name: 'transaction of 200 creates', kind: 'bundle', caller: 'bundle', send: (i) => transaction(i, 200) },
    {
      name: 'search, 20 matches',
      kind: 'search',
      caller: 'search',
      send: () => send('GET', '/Observation?code=29463-7&_count=20', undefined),
    },
    { name: 'delete', kind: 'write', caller: 'delete', send: (i) => send('DELETE', `/Observation/o-${i}`) },
  ]
  const meter = new UnitMeter()
  for (const call of recorder.take()) meter.unitsOf(call)
  const rows: string[] = []
  for (const { name, kind, caller, send } of samples) {
    // The first request of a function reads what it keeps.
    await send(REPEATS)
    for (const call of recorder.take()) meter.unitsOf(call)
    for (let i = 0; i < REPEATS; i++) await send(i)
    // Searches are asked when what was written is there to be found.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const seen = recorder.take().map((call) => ({ call, ...meter.unitsOf(call) }))
    rows.push(
      rowOf(
        name,
        kind,
        seen.filter(({ call }) => call.caller === caller),
      ),
    )
  }
  const head = '| interaction | read units | write units | calls of DynamoDB, S3, OpenSearch | dollars per million |'
  return [head, '|---|---|---|---|---|', ...rows]
}

type MeteredCall = { readonly call: RecordedCall; readonly reads: number; readonly writes: number }

function rowOf(name: string, kind: Kind, seen: readonly MeteredCall[]): string {
  const each = (count: (one: MeteredCall) => number): number => seen.reduce((sum, one) => sum + count(one), 0) / REPEATS
  const [reads, writes] = [each((one) => one.reads), each((one) => one.writes)]
  const sumOf = (service: RecordedCall['service'], write?: boolean) =>
    each(({ call }) => (call.service === service && (write === undefined || (call.operation === 'PUT') === write) ? 1 : 0))
  const [gigabytes, ms] = RUNS[kind]
  const dollars =
    PRICES.gateway +
    PRICES.invocation +
    ((gigabytes * ms) / 1_000) * PRICES.gigabyteSeconds +
    reads * PRICES.reads +
    writes * PRICES.writes +
    sumOf('s3', true) * PRICES.s3Write +
    sumOf('s3', false) * PRICES.s3Read +
    PRICES.log
  const calls = [sumOf('dynamodb'), sumOf('s3'), sumOf('es')].map((count) => Number(count.toFixed(1))).join(', ')
  return `| ${name} | ${Number(reads.toFixed(1))} | ${Number(writes.toFixed(1))} | ${calls} | ${dollars.toFixed(2)} |`
}
