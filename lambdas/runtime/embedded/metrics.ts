/**
 * Metrics of an embedded server, in the text format of Prometheus. Labels are names from the server's own code, so none needs to be escaped.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { RequestRecord } from '../../ports/execution/request-log.ts'

/** Upper bounds of the buckets of durations, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** Durations of the requests of an interaction. `counts`: requests by bucket, without those of lower buckets; the last are longer than all. */
type Durations = { readonly counts: number[]; seconds: number }

/** Gauges that are read when the metrics are requested, by name, with their meaning. */
export type Gauges = Readonly<Record<string, { readonly help: string; readonly read: () => number | Promise<number> }>>

export class Metrics {
  readonly #gauges: Gauges
  /** Number of requests by the labels of the metric. */
  readonly #requests = new Map<string, number>()
  readonly #durations = new Map<string, Durations>()
  readonly #waits = new Map<string, number>()
  #bytes = 0

  constructor(gauges: Gauges) {
    this.#gauges = gauges
  }

  observe({ interaction, status, duration, calls, bytes = 0 }: RequestRecord): void {
    add(this.#requests, `interaction="${interaction}",status="${status}"`, 1)
    const seconds = duration / 1_000
    const labels = `interaction="${interaction}"`
    const durations = this.#durations.get(labels) ?? { counts: Array<number>(BUCKETS.length + 1).fill(0), seconds: 0 }
    this.#durations.set(labels, durations)
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
    durations.counts[bucket < 0 ? BUCKETS.length : bucket]!++
    durations.seconds += seconds
    for (const [dependency, time] of Object.entries(calls)) add(this.#waits, `dependency="${dependency}"`, time / 1_000)
    this.#bytes += bytes
  }

  async text(): Promise<string> {
    const gauges = await Promise.all(
      Object.entries(this.#gauges).map(async ([name, { help, read }]) =>
        metric(name, name.endsWith('_total') ? 'counter' : 'gauge', help, [`${name} ${await read()}`]),
      ),
    )
    return [
      ...metric('fhir_requests_total', 'counter', 'Requests by interaction and status.', linesOf('fhir_requests_total', this.#requests)),
      ...metric('fhir_request_duration_seconds', 'histogram', 'Seconds from the arrival of a request to its response.', this.#histogram()),
      ...metric(
        'fhir_wait_seconds_total',
        'counter',
        'Seconds that requests waited for another part of the server.',
        linesOf('fhir_wait_seconds_total', this.#waits),
      ),
      ...metric('fhir_response_bytes_total', 'counter', 'Bytes of responses before compression.', [
        `fhir_response_bytes_total ${this.#bytes}`,
      ]),
      ...gauges.flat(),
    ]
      .map((line) => `${line}\n`)
      .join('')
  }

  #histogram(): readonly string[] {
    return [...this.#durations].flatMap(([labels, { counts, seconds }]) => {
      let sum = 0
      const buckets = [...BUCKETS, '+Inf'].map((bound, i) => {
        sum += counts[i]!
        return `fhir_request_duration_seconds_bucket{${labels},le="${bound}"} ${sum}`
      })
      return [
        ...buckets,
        `fhir_request_duration_seconds_sum{${labels}} ${seconds}`,
        `fhir_request_duration_seconds_count{${labels}} ${sum}`,
      ]
    })
  }
}

/** Gauges of the process, with the usual names of Prometheus. */
export const PROCESS_GAUGES: Gauges = {
  process_cpu_seconds_total: { help: 'Processor time of all threads.', read: () => cpuSeconds(process.cpuUsage()) },
  process_resident_memory_bytes: { help: 'Resident memory.', read: () => process.memoryUsage.rss() },
  process_start_time_seconds: { help: 'Start of the process since 1970.', read: () => performance.timeOrigin / 1_000 },
  nodejs_eventloop_utilization: {
    help: 'Fraction of time (0 to 1) that the serving thread was busy since its start.',
    read: () => performance.eventLoopUtilization().utilization,
  },
}

const cpuSeconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000_000

const metric = (name: string, type: string, help: string, lines: readonly string[]): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...lines,
]

const linesOf = (name: string, values: ReadonlyMap<string, number>): readonly string[] =>
  [...values].map(([labels, value]) => `${name}{${labels}} ${value}`)

const add = (values: Map<string, number>, labels: string, value: number): void => void values.set(labels, (values.get(labels) ?? 0) + value)

/**
 * Serves the metrics at `/metrics`, to this machine only, because they need no token. Rejects if the port is taken. `port`: 0 for any free one.
 */
export async function serveMetrics(metrics: Metrics, port: number): Promise<Server> {
  const answer = async (method: string, url: string, response: ServerResponse): Promise<unknown> => {
    if (url !== '/metrics') return response.writeHead(404).end()
    if (method !== 'GET') return response.writeHead(405, { allow: 'GET' }).end()
    const text = await metrics.text()
    return response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
  }
  const server = createServer(({ method = '', url = '' }, response) => void answer(method, url, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? new Error(`The port ${port} of the metrics is taken: choose another with FHIR_METRICS_PORT`) : error,
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}
