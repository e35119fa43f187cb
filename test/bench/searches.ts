/**
 * Compares searches with a bare node:http server that answers as many bytes. Both get the same requests in turn in the same run. Measured
 * are the time by the clock and the processor time of each thread.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { sendRequest, stopProcess, trackProcess } from './served.ts'
import { pick, READ, SHAPES } from './shapes.ts'
import { sumOfThreads, type ThreadTimes, threadTimesBetween, threadTimesOf } from './thread-times.ts'

/** Requests of a shape in a turn. They repeat QUERIES queries. The index caches the matches of far fewer searches. */
const REQUESTS = 250
const QUERIES = 50
const TURNS = 6

/** `path`: below the base URL. `length`: bytes of the answer. */
type Query = { readonly path: string; readonly length: number }

/**
 * Milliseconds of a request in the best turn, because other processes only add to it. `wall`: by the clock. `processor`: processor time of all
 * threads.
 */
type Cost = { wall: number; processor: number; threads: ThreadTimes }

const newCost = (): Cost => ({ wall: Number.POSITIVE_INFINITY, processor: Number.POSITIVE_INFINITY, threads: new Map() })

/** Costs of a shape. `bytes`: mean length of an answer. */
export type SearchComparison = { readonly name: string; readonly bytes: number; readonly server: Cost; readonly bare: Cost }

type Sides = {
  /** Base URL of the server. */
  readonly base: string
  /** Process of the server. */
  readonly child: ChildProcess
  /** Free port for the bare server. */
  readonly port: number
  /** Ids of stored patients. */
  readonly patients: readonly string[]
  readonly connections: number
}

/** Compares all shapes. Throws if a search is refused. */
export async function compareSearches({ base, child, port, patients, connections }: Sides): Promise<readonly SearchComparison[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const bare = await bareServer(port)
  try {
    const queries = await queriesOf(base, agent, patients)
    const compared = [...queries].map(([name, list]) => ({
      name,
      bytes: list.reduce((sum, { length }) => sum + length, 0) / list.length,
      server: newCost(),
      bare: newCost(),
    }))
    for (let turn = 0; turn <= TURNS; turn++)
      for (const { name, server, bare: floor } of compared) {
        const list = queries.get(name)!
        const sides = [
          { cost: server, process: child, url: ({ path }: Query) => `${base}/${path}` },
          { cost: floor, process: bare, url: ({ length }: Query) => `http://127.0.0.1:${port}/${length}` },
        ]
        for (const { cost, process, url } of sides) {
          const { wall, threads } = await costOf(process, list.map(url), agent, connections)
          // In the first turn, both sides compile their code.
          if (turn === 0) continue
          cost.wall = Math.min(cost.wall, wall)
          const processor = sumOfThreads(threads)
          if (processor < cost.processor) Object.assign(cost, { processor, threads })
        }
      }
    return compared
  } finally {
    agent.destroy()
    await stopProcess(bare)
  }
}

export const searchesOf = (compared: readonly SearchComparison[]): readonly SearchComparison[] =>
  compared.filter(({ name }) => name !== READ)

/** Returns the ids of up to 1,000 patients of the server at this base URL. Throws if the server refuses the search. */
export async function patientsOf(base: string): Promise<readonly string[]> {
  const [status, body] = await sendRequest(`${base}/Patient?_count=1000`, { agent: new Agent() })
  if (status !== 200) throw new Error(body.toString())
  const { entry } = JSON.parse(body.toString()) as { readonly entry: readonly { readonly resource: { readonly id: string } }[] }
  return entry.map(({ resource }) => resource.id)
}

/** Returns the mean of several shapes. */
export const averageComparison = (compared: readonly SearchComparison[]): Omit<SearchComparison, 'name'> => {
  const mean = (read: (each: SearchComparison) => number): number => compared.reduce((sum, each) => sum + read(each), 0) / compared.length
  const cost = (side: 'server' | 'bare'): Cost => ({
    wall: mean((each) => each[side].wall),
    processor: mean((each) => each[side].processor),
    threads: new Map([...compared[0]![side].threads.keys()].map((name) => [name, mean((each) => each[side].threads.get(name) ?? 0)])),
  })
  return { bytes: mean(({ bytes }) => bytes), server: cost('server'), bare: cost('bare') }
}

/** Returns the server's speed divided by that of the bare server, by the clock and by processor time. */
export const ratiosOf = ({ server, bare }: Omit<SearchComparison, 'name'>): readonly [wall: string, processor: string] => [
  (bare.wall / server.wall).toFixed(2),
  (bare.processor / server.processor).toFixed(2),
]

async function queriesOf(base: string, agent: Agent, patients: readonly string[]): Promise<ReadonlyMap<string, readonly Query[]>> {
  const queries = new Map<string, readonly Query[]>()
  for (const [name, shape] of Object.entries(SHAPES)) {
    const paths = Array.from({ length: QUERIES }, () => shape(pick(patients)))
    const lengths = await Promise.all(paths.map((path) => lengthOf(`${base}/${path}`, agent)))
    queries.set(
      name,
      paths.map((path, i) => ({ path, length: lengths[i]! })),
    )
  }
  return queries
}

async function lengthOf(url: string, agent: Agent): Promise<number> {
  const [status, body] = await sendRequest(url, { agent })
  if (status !== 200) throw new Error(`${url}: ${status} ${body}`)
  return body.length
}

async function costOf(
  process: ChildProcess,
  urls: readonly string[],
  agent: Agent,
  connections: number,
): Promise<{ readonly wall: number; readonly threads: ThreadTimes }> {
  let count = 0
  const [before, began] = [threadTimesOf(process), performance.now()]
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (count < REQUESTS) await lengthOf(urls[count++ % urls.length]!, agent)
    }),
  )
  return { wall: (performance.now() - began) / REQUESTS, threads: threadTimesBetween(before, threadTimesOf(process), REQUESTS) }
}

/** Starts a server that answers as many bytes as its path says. Throws an Error if the port is taken. */
export async function bareServer(port: number): Promise<ChildProcess> {
  const program = [
    '-e',
    `const bytes = Buffer.alloc(10_000_000, 32)
    require('node:http').createServer((incoming, outgoing) => {
      const length = Number(incoming.url.slice(1))
      outgoing.writeHead(200, { 'content-type': 'application/fhir+json; charset=utf-8', 'content-length': length })
      outgoing.end(bytes.subarray(0, length))
    }).listen(${port}, '127.0.0.1', () => console.log('listening'))`,
  ]
  const bare = trackProcess(spawn(process.execPath, program))
  const ended = once(bare, 'exit').then(() => Promise.reject(new Error(`No bare server listens on port ${port}`)))
  await Promise.race([once(bare.stdout!, 'data'), ended])
  ended.catch(() => undefined)
  return bare
}
