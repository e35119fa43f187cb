/** `fhir export`: a Bulk Data client for this server and others. */
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError, Option } from 'commander'
import { requestAssertionToken } from '../client/assertion-token.ts'
import { renewingAuthorizer } from '../client/token-renewal.ts'
import { type ExportResult, runExport } from '../export/export-client.ts'
import { ExportFault } from '../export/export-fault.ts'
import { readExportState } from '../export/export-state.ts'
import type { RequestedExport } from '../export/kick-off.ts'
import type { OmittedTypes } from '../export/manifest.ts'
import { DEFAULT_RETRY_POLICY } from '../export/retrying-requests.ts'
import { errorMessageOf, formatCount, ignoreStreamErrors, print, printError, toOneLine, warn } from '../output.ts'
import { collectOption } from './administration.ts'
import { missingTokenHint, type ResolvedAuthorization, resolveAuthorization } from './authorize.ts'
import { dataOption, parseBaseUrl, sigv4Option, withExamples } from './options.ts'
import { readSigningKey } from './read-text.ts'
import { BASE_URL_HELP, selectBaseUrl } from './server-url.ts'

type Options = {
  readonly to: string
  readonly from?: string
  readonly group?: string
  readonly patients?: boolean
  readonly type?: readonly string[]
  readonly since?: string
  readonly sinceLast?: boolean
  readonly until?: string
  readonly elements?: readonly string[]
  readonly typeFilter?: readonly string[]
  readonly patient?: readonly string[]
  readonly data: string
  readonly tenant?: string
  readonly client?: string
  readonly key?: string
  readonly secretFile?: string
  readonly sigv4?: boolean
  readonly scope: string
  readonly parallel: number
  readonly keep?: boolean
}

/** Exit codes. All other failures end with 1. */
const CODES = { usage: 2, failed: 3, errors: 4, unreachable: 5, interrupted: 130 } as const

const exporting = new Command('export')
  .description('export everything, all patients or a group into NDJSON files. Run it again to continue an export that was cut off')
  .requiredOption('--to <folder>', 'folder for Type.ndjson and manifest.json')
  .option('--from <url>', BASE_URL_HELP, parseBaseUrl)
  .addOption(
    new Option(
      '--group <id>',
      'the patients of a Group. The client must be registered with system/Group.r, or request this scope',
    ).conflicts('patients'),
  )
  .option('--patients', 'all patients')
  .option('--type <types>', 'only these types, separated by commas (repeatable)', collectOption)
  .option('--since <instant>', 'only changes after this instant', instant)
  .addOption(
    new Option(
      '--since-last',
      'only changes since the last export of the same request into the folder; each export gets its own subfolder',
    ).conflicts('since'),
  )
  .option('--until <instant>', 'only changes before this instant', instant)
  .option('--elements <names>', 'only these elements, such as Patient.name or id, separated by commas (repeatable)', collectOption)
  .option(
    '--type-filter <search>',
    'restricts its type to the matches of a search, such as Observation?status=final (repeatable)',
    collectOption,
  )
  .option('--patient <id>', 'only this patient, of all patients or the Group (repeatable)', collectOption)
  .addOption(dataOption('data folder of a server on this machine, which issues the token'))
  .option('--tenant <name>', 'tenant of the resources, if the server has tenants (default: "default")')
  .option('--client <id>', 'a client that is registered with the server')
  .addOption(new Option('--key <file>', 'private JSON Web Key of the client').conflicts('secretFile'))
  .option('--secret-file <file>', 'secret of the client, for servers that permit exports with a secret; - for standard input')
  .addOption(sigv4Option().conflicts(['client', 'key', 'secretFile', 'tenant']))
  .option('--scope <scopes>', 'scopes that the client requests with its key', 'system/*.rs')
  .option('--parallel <number>', 'concurrent downloads, 1 to 16', parallel, 4)
  .option('--keep', 'Ctrl-C leaves the job to the next run instead of cancelling it')
  // Without this, commander exits with 1 for a wrong option.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : CODES.usage))
  .action(run)

export const exportCommand = withExamples(exporting, [
  'npm run -s fhir -- export --to everything',
  'npm run -s fhir -- export --to group --group 1 --type Patient,Observation --type-filter "Observation?status=final"',
  'npm run -s fhir -- export --to nightly --since-last --from https://fhir.example.org/fhir --client backup --key backup.json',
]).addHelpText(
  'after',
  `
Exit codes: 0: the export is complete; 1: any other failure, such as a full disk or a file that differs from the manifest; 2: an option is wrong;
3: the server refuses the export, or it failed there; 4: all files are complete, but the server reports resources that it could not export or
left out; 5: the server cannot be reached, or stays busy; 130: Ctrl-C`,
)

function instant(text: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('An instant, as 2026-01-31T12:00:00Z.')
  return text
}

function parallel(text: string): number {
  if (!/^(?:[1-9]|1[0-6])$/.test(text)) throw new InvalidArgumentError('A number from 1 to 16.')
  return Number(text)
}

async function run(input: Options, command: Command): Promise<void> {
  const { options, authorize, reason } = await resolveServer(input, command).catch((error) => {
    warn(errorMessageOf(error))
    return process.exit(CODES.usage)
  })
  const ending = new AbortController()
  process.once('SIGINT', () => ending.abort()).once('SIGTERM', () => ending.abort())
  const display = progress()
  try {
    const exported = await runExport({
      request: requestOf(options),
      folder: options.to,
      sinceLast: options.sinceLast === true,
      keep: options.keep === true,
      parallel: options.parallel,
      signal: ending.signal,
      patience: DEFAULT_RETRY_POLICY,
      ...(authorize === undefined ? {} : { authorize }),
      ...display,
    }).finally(display.end)
    printResult(exported)
    if (exported.errors.length + exported.warnings.length > 0) process.exitCode = CODES.errors
  } catch (error) {
    const isInterrupted = ending.signal.aborted
    process.exitCode = isInterrupted ? CODES.interrupted : codeOf(error)
    if (!isInterrupted || error instanceof ExportFault) warn(errorLine(error, options.to, reason))
    if (isInterrupted) warn(`Interrupted: ${await interruptionOf(options)}`)
  }
}

/** Returns what an interruption leaves. The stored state decides, because the server may not have cancelled the job. */
async function interruptionOf({ to, keep }: Options): Promise<string> {
  const state = await readExportState(to).catch(() => undefined)
  if (state?.job !== undefined) return 'run the same command again to continue'
  return `the export is cancelled${keep ? '' : '. With --keep, the next run continues it'}`
}

function codeOf(error: unknown): number {
  if (!(error instanceof ExportFault) || error.kind === 'mismatch') return 1
  return error.kind === 'unreachable' ? CODES.unreachable : CODES.failed
}

/** Returns the error as one line. `reason`: reason why requests carry no token. */
const errorLine = (error: unknown, folder: string, reason: string | undefined): string =>
  toOneLine(errorMessageOf(error, folder)) + missingTokenHint(reason, error instanceof ExportFault && error.status === 401)

const requestOf = ({ from, group, patients, type, since, until, elements, typeFilter, patient }: Located): RequestedExport => ({
  base: from,
  level: group !== undefined ? { group } : patients || patient !== undefined ? 'patients' : 'system',
  types: listed(type),
  elements: listed(elements),
  filters: typeFilter ?? [],
  patients: (patient ?? []).map((id) => (id.includes('/') ? id : `Patient/${id}`)),
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})

const listed = (values: readonly string[] = []): readonly string[] =>
  values.flatMap((value) => value.split(',')).filter((each) => each !== '')

type Located = Options & { readonly from: string }

/** Returns the options with the base URL of the server, and the authorization. Throws if an option is wrong. */
async function resolveServer(input: Options, command: Command): Promise<ResolvedAuthorization & { readonly options: Located }> {
  const options = { ...input, from: await selectBaseUrl(input.from, command) }
  return { options, ...(await authorized(options)) }
}

/** Authorizes with a key, a secret, AWS credentials, or a token of a server on this machine. Throws if an option is wrong. */
async function authorized({
  from,
  data,
  tenant,
  client,
  key: file,
  secretFile,
  sigv4 = false,
  scope,
}: Located): Promise<ResolvedAuthorization> {
  if (file === undefined) {
    if (client !== undefined && secretFile === undefined)
      throw new Error('--client needs --key FILE (its private JSON Web Key) or --secret-file FILE (its secret, - for standard input)')
    const credentials = { ...(client === undefined ? {} : { client }), ...(secretFile === undefined ? {} : { secretFile }), sigv4 }
    return resolveAuthorization({ to: from, data, ...(tenant === undefined ? {} : { tenant }), ...credentials })
  }
  if (client === undefined) throw new Error('--key needs --client')
  const key = readSigningKey(file)
  const token = renewingAuthorizer(() => requestAssertionToken({ base: from, client, key, scope }))
  return { authorize: tenant === undefined ? token : async () => ({ ...(await token()), 'x-tenant-id': tenant }) }
}

/** Shows progress as a bar in a terminal. Elsewhere, as in a log, prints each change as a line. */
function progress() {
  const stream = ignoreStreamErrors(process.stderr)
  const bar = stream.isTTY ? new SingleBar({ stream, format: '{bar} {percentage}% | {text}', noTTYOutput: false }) : undefined
  let last = ''
  let megabytesShown = 0
  const show = (percent: number | undefined, text: string): void => {
    if (bar !== undefined) return bar.update(percent ?? 0, { text })
    if (text !== last) printError(`${text}\n`)
    last = text
  }
  bar?.start(100, 0, { text: '' })
  return {
    onJob: (link: string, isKnown: boolean) => show(undefined, isKnown ? `goes on with ${link}` : link),
    onProgress: (text: string) => show(Number(/\d+(?:\.\d+)?(?=\s*%)/.exec(text)?.[0] ?? 0), text === '' ? 'in progress' : toOneLine(text)),
    onBytes(bytes: number) {
      const megabytes = Math.floor(bytes / 1_000_000)
      // Print a line only when the size has doubled, so that a log of many gigabytes stays short.
      if (bar === undefined && megabytes > 0 && megabytes < megabytesShown * 2) return
      megabytesShown = megabytes
      show(100, `${megabytes} MB`)
    },
    end: () => bar?.stop(),
  }
}

const MAX_LINES = 20

const omission = ({ types, setting }: OmittedTypes): string =>
  `The export omits stored resources of ${formatCount(types.length, 'type')} that the server's setting ${setting} does not list: ${types.join(', ')}\n`

function printResult({ folder, transactionTime, files, errors, warnings, notes, omittedTypes }: ExportResult): void {
  const all = [...errors, ...warnings, ...notes]
  for (const line of all.slice(0, MAX_LINES)) printError(`${toOneLine(line)}\n`)
  if (all.length > MAX_LINES) printError('and more, in error.ndjson\n')
  if (omittedTypes !== undefined) printError(omission(omittedTypes))
  const filesOf = (kind: ExportResult['files'][number]['kind']) => files.filter((file) => file.kind === kind)
  const resources = filesOf('output').reduce((sum, { lines }) => sum + lines, 0)
  const deletions = filesOf('deleted').length > 0 ? ', and deletions' : ''
  if (resources === 0) return print(`No resources${deletions} as of ${transactionTime}: ${folder} has the manifest\n`)
  const inFiles = `${formatCount(resources, 'resource')} in ${formatCount(filesOf('output').length, 'file')}`
  print(`${inFiles}${deletions} as of ${transactionTime}: in ${folder}\n`)
}
