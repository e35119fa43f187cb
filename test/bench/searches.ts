/**
 * What a server does of searches, 8 connections at once, against a bare node:http server that answers as many bytes, in turn with it in the
 * same run: requests a second, and processor time of a request, of all the threads of the one and of the other.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { sendRequest, stopProcess, trackProcess } from './served.ts'
import { pick, READ, SHAPES } from './shapes.ts'

const CLIENTS = 8
/** Requests of a shape, of so many queries, in so many turns. */
const REQUESTS = 250
const QUERIES = 8
const TURNS = 6

/** A path and the bytes of its answer. */
type Query = { readonly path: string; readonly length: number }

/** Milliseconds of a request, on the clock and of the processors: the least of all turns, for others only add to it. */
type Cost = { wall: number; processor: number }

const newCost = (): Cost => ({ wall: Number.POSITIVE_INFINITY, processor: Number.POSITIVE_INFINITY })

/** Of a shape: of the server, and of the bare one; `bytes`: of an answer, on the average. */
export type SearchComparison = { readonly name: string; readonly bytes: number; readonly server: Cost; readonly bare: Cost }

/** `base`: of the server, whose process is `child`; `port`: a free one. `patients`: ids of those it has. */
export async function compareSearches(
  { base, child }: { readonly base: string; readonly child: ChildProcess },
  port: number,
  patients: readonly string[],
): Promise<readonly SearchComparison[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const bare = await bareServer(port)
  try {
    const compared: SearchComparison[] = []
    const queries = await queriesOf(base, agent, patients)
    for (const [name, list] of queries)
      compared.push({
        name,
        bytes: list.reduce((sum, { length }) => sum + length, 0) / list.length,
        server: newCost(),
        bare: newCost(),
      })
    for (let turn = 0; turn <= TURNS; turn++)
      for (const { name, server, bare: floor } of compared) {
        const list = queries.get(name)!
        const sides = [
          { cost: server, process: child, url: ({ path }: Query) => `${base}/${path}` },
          { cost: floor, process: bare, url: ({ length }: Query) => `http://127.0.0.1:${port}/${length}` },
        ]
        for (const { cost, process, url } of sides) {
          const urls = list.map(url)
          const { wall, processor } = await costOf(process, urls, agent)
          // The first turn is to get warm.
          if (turn > 0) Object.assign(cost, { wall: Math.min(cost.wall, wall), processor: Math.min(cost.processor, processor) })
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

/** Of several shapes together, each as often. */
export const averageComparison = (compared: readonly SearchComparison[]): Omit<SearchComparison, 'name'> => {
  const mean = (read: (each: SearchComparison) => number): number => compared.reduce((sum, each) => sum + read(each), 0) / compared.length
  const cost = (side: 'server' | 'bare'): Cost => ({
    wall: mean((each) => each[side].wall),
    processor: mean((each) => each[side].processor),
  })
  return { bytes: mean(({ bytes }) => bytes), server: cost('server'), bare: cost('bare') }
}

/** Of the bare server's rate, by the clock and by processor time. */
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

async function costOf(process: ChildProcess, urls: readonly string[], agent: Agent): Promise<Cost> {
  let count = 0
  const [before, began] = [processorTime(process), performance.now()]
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (count < REQUESTS) await lengthOf(urls[count++ % urls.length]!, agent)
    }),
  )
  return { wall: (performance.now() - began) / REQUESTS, processor: (processorTime(process) - before) / REQUESTS }
}

/** Milliseconds that all threads of the process have had. https://docs.kernel.org/scheduler/sched-stats.html */
const processorTime = ({ pid }: ChildProcess): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    0,
  )

/** A server that answers as many bytes as its path says. An Error where the port is taken. */
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
  const ended = once(bare, 'exit').then(() => Promise.reject(new Error(`no bare server listens on port ${port}`)))
  await Promise.race([once(bare.stdout!, 'data'), ended])
  ended.catch(() => undefined)
  return bare
}
