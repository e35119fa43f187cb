/** `fhir start`: runs the embedded server. */
import { readdirSync } from 'node:fs'
import { type AddressInfo, isIPv4 } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { type Config, readConfig, unknownVariables } from '../../lambdas/runtime/config.ts'
import { announcePort } from '../../lambdas/runtime/control/server-socket.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { logTextOf, messageLineOf } from '../../lambdas/runtime/error-log.ts'
import { renewingAuthorizer } from '../client/token-renewal.ts'
import { findSourceFiles } from '../load/file-reader.ts'
import { load } from '../load/load.ts'
import { print, printError, warn } from '../output.ts'
import { dataOption, parseBaseUrl, parsePort, withExamples } from './options.ts'

type Options = {
  readonly port: number
  readonly host: string
  readonly baseUrl?: string
  readonly data: string
  readonly memory?: boolean
  readonly sample?: boolean
  readonly open?: boolean
  readonly newStore?: boolean
}

const SAMPLE = fileURLToPath(new URL('../../test/fixtures/sample', import.meta.url))

const command = new Command('start')
  .description('start the server')
  .option('--port <number>', 'port to listen on', parsePort, 8080)
  .option('--host <address>', 'address to listen on; beyond this machine --base-url must be https', '127.0.0.1')
  .option('--base-url <url>', 'address of the server as clients see it (default: http://HOST:PORT/fhir)', parseBaseUrl)
  .addOption(dataOption('folder that keeps everything'))
  .addOption(new Option('--memory', 'keep nothing: a private folder, removed on exit; commands find it by --port').conflicts('data'))
  .option('--sample', 'load three real (synthetic) patients first, once')
  .option('--open', 'answer requests without a token: only from this machine, never through a proxy')
  .option('--new-store', 'confirm an empty store in a data folder whose store.db was lost')
  .action(start)

export const startCommand = withExamples(command, [
  'npm start -- --sample',
  'npm start -- --memory --port 8091',
  'npm start -- --host 0.0.0.0 --base-url https://fhir.example.org/fhir',
])

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

/** Throws if the access settings are unsafe or contradict each other. The message names the remedy. */
function checkAccess({ access, tenancy }: Config, host: string, baseUrl: string): void {
  if (access === 'iam') throw new Error('FHIR_ACCESS=iam is for a deployment on AWS: here it is token, or open (--open)')
  const url = new URL(baseUrl)
  const isBaseLoopback = isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  const isLocal = isLoopback(host) && isBaseLoopback
  if (access === 'open' && !isLoopback(host))
    throw new Error('With --open the server listens on loopback addresses only: 127.0.0.1, ::1, localhost')
  // guard: open-mode-base-url
  if (access === 'open' && !isBaseLoopback)
    throw new Error(
      `Open mode (--open) needs a base URL with a loopback address, not ${baseUrl}: leave --open out, or a proxy would let everybody in`,
    )
  if (access === 'open' && tenancy)
    throw new Error('FHIR_TENANCY=on needs tokens, which say whose data a request is about: leave --open out')
  if (access === 'token' && !isLocal && url.protocol !== 'https:')
    throw new Error(
      'Tokens and passwords must not be sent in the clear: give --base-url https://…, the address of the proxy before the server',
    )
}

async function start(options: Options): Promise<void> {
  const address = options.host.includes(':') ? `[${options.host}]` : options.host
  const baseUrl = options.baseUrl ?? `http://${address}:${options.port}/fhir`
  const config = { ...readConfig(), ...(options.open ? { access: 'open' as const } : {}) }
  checkAccess(config, options.host, baseUrl)
  for (const variable of unknownVariables())
    warn(`${variable} is no setting of this server (lambdas/docs/settings.md lists them): it changes nothing`)
  const embedded = await openEmbeddedServer({
    config,
    baseUrl,
    ...(options.memory ? {} : { dataFolder: options.data, isNewStore: options.newStore === true }),
    report: (error, requestId) => printError(`${new Date().toISOString()} request ${requestId}: ${logTextOf(error)}\n`),
    warn,
    logRequest: ({ at, ...record }) => print(`${JSON.stringify({ at: new Date(at).toISOString(), ...record })}\n`),
  })
  try {
    await listen(embedded, options)
    const silence = options.memory ? announced(embedded, options) : () => undefined
    stopOnSignals(embedded, silence)
    const hasSample = options.sample === true && (await loadSample(embedded, new URL(baseUrl).pathname.replace(/\/$/, ''), config))
    print(greeting(baseUrl, options, config, hasSample, await embedded.hasUsers()))
  } catch (error) {
    await embedded.close()
    throw error
  }
}

/**
 * Announces the port to other commands and returns a function that withdraws it. On failure it only warns: the server still answers
 * requests.
 */
function announced({ folder }: EmbeddedServer, { port }: Options): () => void {
  try {
    return announcePort(folder, port)
  } catch (error) {
    warn(`commands with --port cannot reach this server (${(error as Error).message})`)
    return () => undefined
  }
}

function listen({ server }: EmbeddedServer, { port, host }: Options): Promise<void> {
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

/** Closes the server and ends the process on a signal. `silence`: called before the server closes. */
function stopOnSignals(embedded: EmbeddedServer, silence: () => void): void {
  let stopping = false
  const stop = (): void => {
    if (stopping) return
    stopping = true
    silence()
    embedded.close().then(
      () => process.exit(0),
      (error) => {
        warn(`not everything could be closed: ${messageLineOf(error)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
}

/**
 * Loads the sample, unless its patient ever existed, so that later changes are not overwritten. Returns false if the patient was deleted.
 */
async function loadSample({ server, issue }: EmbeddedServer, basePath: string, { access }: Config): Promise<boolean> {
  const { address, port, family } = server.address() as AddressInfo
  const base = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${basePath}`
  const patient = `${base}/Patient/${samplePatient()}`
  const authorize = access === 'open' ? undefined : renewingAuthorizer(() => issue({ isAdministrator: false, tenant: 'default' }))
  const headers = { ...(await authorize?.()) }
  if ((await fetch(`${patient}/_history`, { headers })).ok) return (await fetch(patient, { headers })).ok
  const { failures } = await load(findSourceFiles([SAMPLE]), {
    base,
    ...(authorize === undefined ? {} : { authorize }),
    concurrency: 1,
    onProgress: () => undefined,
  })
  if (failures.length > 0) throw new Error(`The sample could not be loaded: ${failures[0]!.reason}`)
  return true
}

const samplePatient = (): string => readdirSync(SAMPLE).sort()[0]!.replace(/\..*$/, '')

function greeting(base: string, options: Options, { access, tenancy, publicRead }: Config, hasSample: boolean, hasUsers: boolean): string {
  const calls = hasSample ? callsOf(base, samplePatient()) : firstCalls(base, locationOptions(options))
  const storage = options.memory ? 'No data is stored.' : `All data is stored in ${options.data}.`
  const publicReads = publicRead === '' ? '' : ', except the reads of FHIR_PUBLIC_READ'
  const mode =
    access === 'open' ? 'Open mode (--open): requests need no token, loopback only.' : `Requests need an access token${publicReads}.`
  const commands =
    access === 'open'
      ? calls
      : [`TOKEN=$(npm run -s fhir -- token${locationOptions(options)}${tenancy ? ' --tenant default' : ''})`, ...calls.map(withToken)]
  const explorer =
    access === 'open' || hasUsers
      ? `Open ${base} in a browser to look at the data.`
      : `Add yourself as a user, then open ${base} in a browser to look at the data:

  npm run -s fhir -- user add me --scope 'user/*.cruds system/admin' --fhir-user Practitioner/me${locationOptions(options)}`
  return `FHIR R4 server at ${base}
${mode} ${storage}

${explorer}

${commands.map((call) => `  ${call}`).join('\n')}

Stop it with Ctrl-C.
`
}

const locationOptions = ({ memory, data, port }: Options): string =>
  memory ? (port === 8080 ? '' : ` --port ${port}`) : data === '.data' ? '' : ` --data ${data}`

/** Adds the token to curl calls. The load command requests its own token. */
const withToken = (call: string): string => call.replace(/^curl /, 'curl -H "Authorization: Bearer $TOKEN" ')

/** Quotes URLs with brackets (IPv6), which some shells interpret as file patterns. */
const pasted = (url: string): string => (url.includes('[') ? `'${url}'` : url)

const callsOf = (base: string, id: string): readonly string[] => [
  `curl ${pasted(`${base}/Patient/${id}`)}`,
  `curl '${base}/Observation?patient=${id}&category=laboratory&_sort=-date&_count=3'`,
  `curl ${pasted(`${base}/Patient/${id}/_history`)}`,
  `curl -X PATCH ${pasted(`${base}/Patient/${id}`)} -H 'Content-Type: application/json-patch+json' -d '[{"op":"add","path":"/active","value":true}]'`,
]

/** Returns example calls that work with any data. */
const firstCalls = (base: string, location: string): readonly string[] => [
  `curl ${pasted(`${base}/metadata`)}`,
  `curl '${base}/Patient?_count=3'`,
  `npm run fhir -- load FILES --to ${pasted(base)}${location.startsWith(' --data') ? location : ''}`,
]
