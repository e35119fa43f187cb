/** `fhir start`: the embedded server. */
import { readdirSync } from 'node:fs'
import { type AddressInfo, isIPv4 } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { readConfig, unknownVariables } from '../../lambdas/runtime/config.ts'
import { type Embedded, openEmbedded } from '../../lambdas/runtime/embedded.ts'
import { load } from '../../lambdas/runtime/load/load.ts'
import { sourcesOf } from '../../lambdas/runtime/load/read-files.ts'
import { lineOf, toldOf } from '../../lambdas/runtime/told-error.ts'
import { complain, say, warn } from '../output.ts'
import { baseUrl, dataOption } from './options.ts'

type Options = {
  readonly port: number
  readonly host: string
  readonly baseUrl?: string
  readonly data: string
  readonly memory?: boolean
  readonly sample?: boolean
}

const SAMPLE = fileURLToPath(new URL('../../test/fixtures/sample', import.meta.url))

export const startCommand = new Command('start')
  .description('start the server')
  .option('--port <number>', 'port to listen on', port, 8080)
  .option('--host <address>', 'loopback address to listen on', '127.0.0.1')
  .option('--base-url <url>', 'address of the server as clients see it (default: http://HOST:PORT/fhir)', baseUrl)
  .addOption(dataOption('folder that keeps everything'))
  .addOption(new Option('--memory', 'keep nothing: a private folder, removed on exit').conflicts('data'))
  .option('--sample', 'load a few real patients first')
  .option('--open', 'no authentication, loopback only: so far the only mode, and the default')
  .action(start)

function port(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('A port is a number from 1 to 65535.')
  return Number(text)
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

async function start(options: Options): Promise<void> {
  if (!isLoopback(options.host))
    throw new Error('Without authentication the server listens on loopback addresses only: 127.0.0.1, ::1, localhost')
  const address = options.host.includes(':') ? `[${options.host}]` : options.host
  const baseUrl = options.baseUrl ?? `http://${address}:${options.port}/fhir`
  const config = readConfig()
  for (const variable of unknownVariables()) warn(`${variable} is no setting of this server (README.md lists them): it changes nothing`)
  const embedded = await openEmbedded({
    config,
    baseUrl,
    ...(options.memory ? {} : { dataFolder: options.data }),
    report: (error, requestId) => complain(`${new Date().toISOString()} request ${requestId}: ${toldOf(error)}\n`),
    warn,
  })
  try {
    await listen(embedded, options)
    stopOnSignals(embedded)
    const hasSample = options.sample === true && (await loadSample(embedded, new URL(baseUrl).pathname.replace(/\/$/, '')))
    say(greeting(baseUrl, options, hasSample))
  } catch (error) {
    await embedded.close()
    throw error
  }
}

function listen({ server }: Embedded, { port, host }: Options): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          error.code === 'EADDRINUSE'
            ? `Port ${port} is taken: choose another with --port`
            : `Cannot listen on ${host}:${port} (${error.code})`,
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
}

function stopOnSignals(embedded: Embedded): void {
  let stopping = false
  const stop = (): void => {
    if (stopping) return
    stopping = true
    embedded.close().then(
      () => process.exit(0),
      (error) => {
        warn(`not everything could be closed: ${lineOf(error)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
}

/** Once: what was changed since stays changed. False where the patient is not there any more. */
async function loadSample({ server }: Embedded, basePath: string): Promise<boolean> {
  const { address, port, family } = server.address() as AddressInfo
  const base = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${basePath}`
  const patient = `${base}/Patient/${samplePatient()}`
  if ((await fetch(`${patient}/_history`)).ok) return (await fetch(patient)).ok
  const { failures } = await load(sourcesOf([SAMPLE]), { base, concurrency: 1, onProgress: () => undefined })
  if (failures.length > 0) throw new Error(`The sample could not be loaded: ${failures[0]!.reason}`)
  return true
}

const samplePatient = (): string => readdirSync(SAMPLE).sort()[0]!.replace(/\..*$/, '')

function greeting(base: string, { memory, data }: Options, hasSample: boolean): string {
  return `FHIR R4 server at ${base}
Open mode (--open): no authentication, loopback only. ${memory ? 'Nothing is kept.' : `Everything is kept in ${data}.`}

${(hasSample ? callsOf(base, samplePatient()) : firstCalls(base)).map((call) => `  ${call}`).join('\n')}

Stop it with Ctrl-C.
`
}

/** Some shells look for files named as what is in brackets. */
const pasted = (url: string): string => (url.includes('[') ? `'${url}'` : url)

const callsOf = (base: string, id: string): readonly string[] => [
  `curl ${pasted(`${base}/Patient/${id}`)}`,
  `curl '${base}/Observation?patient=${id}&category=laboratory&_sort=-date&_count=3'`,
  `curl ${pasted(`${base}/Patient/${id}/_history`)}`,
  `curl -X PATCH ${pasted(`${base}/Patient/${id}`)} -H 'Content-Type: application/json-patch+json' -d '[{"op":"add","path":"/active","value":true}]'`,
]

/** They work whatever the folder holds. */
const firstCalls = (base: string): readonly string[] => [
  `curl ${pasted(`${base}/metadata`)}`,
  `curl '${base}/Patient?_count=3'`,
  `npm run fhir -- load FILES --to ${pasted(base)}`,
]
