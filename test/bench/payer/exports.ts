/** Exports of matched members with the view of a partner, and without it. */
import type { StartedServer } from '../served.ts'
import { type BenchData, expectStatus, processorTime, type Row, range, runJob, untilSearchable, withServer } from './bench-server.ts'
import { bulkMatchBody, patientIdOf } from './members.ts'

/** Turns of the measurement. The first one compiles the code and does not count. */
const TURNS = 4
/** Members of one request of a match. */
const BULK = 2_000

/** Groups by the data of their members. `bound`: greatest share by which the view may slow an export down. */
const GROUPS = [
  { name: 'observations', types: 'Patient,Observation', bound: 0.15 },
  { name: 'claims', types: 'ExplanationOfBenefit', bound: 0.5 },
] as const
type Group = (typeof GROUPS)[number]

const EXPORTS = ['no view', 'view of a provider', 'view of a payer, with Consents'] as const
type Kind = (typeof EXPORTS)[number]

const pathOf = (group: string, types: string, kind: Kind): string => {
  if (kind === 'no view') return `Group/${group}/$export?_type=${types}`
  const exportType = kind === 'view of a provider' ? 'provider-download' : 'payertopayer'
  return `Group/${group}/$davinci-data-export?_type=${types}&exportType=hl7.fhir.us.davinci-pdex%23${exportType}`
}

export const exportRows = (data: string, { exported }: BenchData): Promise<readonly Row[]> =>
  withServer(data, async (running) => {
    const rows: Row[] = []
    for (const [i, group] of GROUPS.entries()) {
      const id = await writeGroup(range(i * exported, (i + 1) * exported))
      rows.push(...(await rowsOf(running, id, group)))
    }
    return rows
  })

/** Matches the members, so that their Consents are stored. Then writes a Group of all of them, and returns its id. */
async function writeGroup(members: readonly number[]): Promise<string> {
  for (let first = 0; first < members.length; first += BULK)
    await runJob('Group/$bulk-member-match', bulkMatchBody(members.slice(first, first + BULK)))
  const member = members.map((i) => ({ entity: { reference: `Patient/${patientIdOf(i)}` } }))
  const body = JSON.stringify({ resourceType: 'Group', type: 'person', actual: true, member })
  const stored = await expectStatus(201, 'Group', { method: 'POST', body })
  await untilSearchable()
  return JSON.parse(stored.toString()).id
}

type Cost = { wall: number; processor: number; lines: number }

/** Measures the exports in turn, so that other processes slow all of them down. Keeps the best of each, because others only add to it. */
async function rowsOf(running: StartedServer, id: string, { name, types, bound }: Group): Promise<readonly Row[]> {
  const best = new Map(EXPORTS.map((kind): [Kind, Cost] => [kind, { wall: Infinity, processor: Infinity, lines: 0 }]))
  for (let turn = 0; turn < TURNS; turn++)
    for (const kind of EXPORTS) {
      const [began, used] = [performance.now(), processorTime(running)]
      const { output } = await runJob(pathOf(id, types, kind))
      const [wall, processor] = [performance.now() - began, processorTime(running) - used]
      const lines = output.filter(({ type }) => types.includes(type)).reduce((sum, { count }) => sum + count, 0)
      if (turn === 0) continue
      const cost = best.get(kind)!
      Object.assign(cost, { wall: Math.min(cost.wall, wall), processor: Math.min(cost.processor, processor), lines })
    }
  const without = best.get('no view')!
  return EXPORTS.map((kind) => {
    const { wall, processor, lines } = best.get(kind)!
    // A view lowers the rate by this share: lines are the same.
    const slower = (each: 'wall' | 'processor'): string => `${((1 - without[each] / best.get(kind)![each]) * 100).toFixed(0)} %`
    return {
      measured: `export of ${name}, ${kind}`,
      figure: `${lines} lines, ${processor.toFixed(0)} ms of processor time, ${wall.toFixed(0)} ms`,
      ...(kind === 'no view' ? {} : { bound: `≤ ${bound * 100} % of the rate` }),
      'compared with': kind === 'no view' ? '' : `${slower('processor')} of the rate by processor time, ${slower('wall')} by the clock`,
    }
  })
}
