/** `$member-match` beside a read and a search, and requests of many members. */
import type { StartedServer } from '../served.ts'
import { memoryOf } from '../thread-times.ts'
import { type BenchData, expectStatus, percentile, processorTime, type Row, range, runJob, withServer } from './bench-server.ts'
import { bulkMatchBody, MEMBER_NUMBERS, matchBody, memberNumberOf, patientIdOf } from './members.ts'

/** Turns of the measurement, and requests of each kind in a turn. The first turn compiles the code of the server and does not count. */
const [TURNS, REQUESTS] = [9, 50]

type Kind = 'read by id' | 'search by identifier' | 'create' | '$member-match'

const SENDERS: Readonly<Record<Kind, (i: number) => Promise<unknown>>> = {
  'read by id': (i) => expectStatus(200, `Patient/${patientIdOf(i)}`),
  'search by identifier': (i) => expectStatus(200, `Patient?identifier=${MEMBER_NUMBERS}|${memberNumberOf(i)}`),
  create: (i) =>
    expectStatus(201, 'Basic', { method: 'POST', body: JSON.stringify({ resourceType: 'Basic', code: { text: `bench ${i}` } }) }),
  '$member-match': (i) => expectStatus(200, 'Patient/$member-match', { method: 'POST', body: matchBody(i) }),
}
const KINDS = Object.keys(SENDERS) as readonly Kind[]

/** Milliseconds of the requests of a kind. `processor`: of all threads of the server, for all requests. */
type Times = { readonly waits: number[]; processor: number }

/** Sends requests of each kind in turn, one at a time, so that other processes slow all of them down. */
export const matchRows = (data: string, { members, exported }: BenchData): Promise<readonly Row[]> =>
  withServer(data, async (running) => {
    const times = new Map(KINDS.map((kind): [Kind, Times] => [kind, { waits: [], processor: 0 }]))
    const from = 2 * exported
    for (let turn = 0; turn < TURNS; turn++)
      for (const kind of KINDS) {
        const { waits, processor } = await timesOf(running, kind, (n) => from + (((turn * REQUESTS + n) * 7_919) % (members - from)))
        if (turn === 0) continue
        const all = times.get(kind)!
        all.waits.push(...waits)
        all.processor += processor
      }
    return rowsOf(times)
  })

async function timesOf(running: StartedServer, kind: Kind, memberAt: (n: number) => number): Promise<Times> {
  const before = processorTime(running)
  const waits: number[] = []
  for (let n = 0; n < REQUESTS; n++) {
    const began = performance.now()
    await SENDERS[kind](memberAt(n))
    waits.push(performance.now() - began)
  }
  return { waits, processor: processorTime(running) - before }
}

function rowsOf(times: ReadonlyMap<Kind, Times>): readonly Row[] {
  const median = (kind: Kind): number => percentile(times.get(kind)!.waits, 0.5)
  const processor = (kind: Kind): number => times.get(kind)!.processor / times.get(kind)!.waits.length
  const base = median('read by id') + median('search by identifier')
  const baseProcessor = processor('read by id') + processor('search by identifier')
  return KINDS.map((kind) => ({
    measured: kind,
    figure: `p50 ${median(kind).toFixed(2)} ms, p99 ${percentile(times.get(kind)!.waits, 0.99).toFixed(2)} ms`,
    ...(kind === '$member-match' ? { bound: 'p50 ≤ 3 × read + search, p99 ≤ 100 ms' } : {}),
    'compared with': `${(median(kind) / base).toFixed(2)} of read + search by p50; ${processor(kind).toFixed(2)} ms of processor time, ${(processor(kind) / baseProcessor).toFixed(2)} of theirs`,
  }))
}

/** Members of a request. */
const BULK = 2_000

/** Sends requests of many members, one after the other. They name all members outside the exported Groups. */
export const bulkRows = (data: string, { members, exported }: BenchData, requests: number): Promise<readonly Row[]> =>
  withServer(data, async (running) => {
    const [memory, processor] = [memoryOf(running.child, 'VmRSS'), processorTime(running)]
    const waits: number[] = []
    let matched = 0
    for (let first = 2 * exported; first < members && waits.length < requests; first += BULK) {
      const numbers = range(first, Math.min(first + BULK, members))
      const body = bulkMatchBody(numbers)
      const began = performance.now()
      await runJob('Group/$bulk-member-match', body)
      waits.push((performance.now() - began) * (BULK / numbers.length))
      matched += numbers.length
      if (waits.length % 50 === 0) console.log(`matched ${matched} members`)
    }
    const seconds = waits.reduce((sum, each) => sum + each, 0) / 1_000
    const used = (processorTime(running) - processor) / matched
    return [
      {
        measured: `$bulk-member-match, ${waits.length} requests of ${BULK} members`,
        figure: `${Math.round((waits.length * BULK) / seconds)} members/s`,
        bound: '≥ 1,500/s',
        'compared with': `${(used * 1_000).toFixed(0)} µs of processor time of a member`,
      },
      {
        measured: `… a request of ${BULK} members`,
        figure: `median ${Math.round(percentile(waits, 0.5))} ms, longest ${Math.round(Math.max(...waits))} ms`,
        bound: '≤ 3,000 ms',
      },
      {
        measured: '… memory',
        figure: `${memoryOf(running.child, 'VmHWM') - memory} MB more`,
        bound: 'as without',
        'compared with': `${memory} MB before, ${memoryOf(running.child, 'VmHWM')} MB at most`,
      },
    ]
  })
