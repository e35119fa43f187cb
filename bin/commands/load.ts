/** `fhir load`: loads files into a server. */
import { statSync, writeFileSync } from 'node:fs'
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import { findSourceFiles, type SourceFile } from '../load/file-reader.ts'
import { load } from '../load/load.ts'
import type { LoadFailure } from '../load/load-entries.ts'
import { LoadRate } from '../load/load-rate.ts'
import { formatCount, ignoreStreamErrors, print, printError, toOneLine } from '../output.ts'
import { missingTokenHint, resolveServerAccess, type ServerAccessOptions, withServerAccessOptions } from './authorize.ts'
import { withExamples } from './options.ts'

type Options = ServerAccessOptions & { readonly concurrency: number; readonly failures?: string; readonly wait: boolean }

const loading = withServerAccessOptions(
  new Command('load')
    .description('load Bundles, resources and NDJSON, each also as .gz, into a server; safe to run again')
    .argument('<paths...>', 'files, and folders with .json, .ndjson, .json.gz and .ndjson.gz files'),
  { tenantOwner: 'the resources', scopes: 'system/*.cruds, and system/admin where it is to define search parameters' },
)
  .option('--concurrency <number>', 'Bundles under way at once, 1 to 99', concurrency, 4)
  .option('--failures <file>', 'writes all that failed into a file, one JSON object a line: place, key, reason')
  .option('--no-wait', 'ends when all is stored, and not only when searches find it')
  .action(run)

export const loadCommand = withExamples(loading, [
  'npm run -s fhir -- load patients.ndjson more/',
  'npm run -s fhir -- load more/ --to https://fhir.example.org/fhir --client loading --secret-file secret.txt --failures failed.ndjson',
])

function concurrency(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('A number from 1 to 99.')
  return Number(text)
}

async function run(paths: readonly string[], { concurrency, failures: file, wait, ...access }: Options, command: Command): Promise<void> {
  const sources = findSourceFiles(paths)
  if (sources.length === 0) throw new Error(`No .json or .ndjson files, also as .gz, are in ${paths.join(' ')}`)
  if (file !== undefined) beginFailures(file, sources)
  const { base, authorize, reason } = await resolveServerAccess(access, command)
  const size = sources.reduce((sum, source) => sum + source.size, 0)
  const bar = new SingleBar({
    stream: ignoreStreamErrors(process.stderr),
    format: '{bar} {percentage}% | {done}',
    noTTYOutput: false,
  })
  const rate = new LoadRate()
  bar.start(size, 0, { done: progressText(rate, size) })
  const indexing = indexingBar()
  const { resources, present, failures, skipped, isSearchable } = await load(sources, {
    base,
    ...(authorize === undefined ? {} : { authorize }),
    concurrency,
    onProgress({ resources, bytes, again }) {
      rate.add(resources, bytes)
      if (again > 0) bar.setTotal(bar.getTotal() + again)
      bar.increment(bytes, { done: progressText(rate, bar.getTotal()) })
    },
    ...(wait ? { onBehind: (versions) => indexing.show(versions, bar) } : {}),
  }).finally(() => {
    bar.stop()
    indexing.stop()
  })
  const files = sources.length - new Set(skipped.map(({ file }) => file)).size
  print(`${formatCount(resources, 'resource')} of ${formatCount(files, 'file')} loaded, ${rate.rate(resources)} a second\n`)
  if (present > 0) print(`${formatCount(present, 'more was', 'more were')} there under another id, as ifNoneExist says\n`)
  if (isSearchable === false) printError('The search index is still behind: searches find all of them later\n')
  for (const { file, description } of skipped.slice(0, MAX_LINES)) printError(`${file} is not loaded: ${toOneLine(description)}\n`)
  if (skipped.length > MAX_LINES) printError(`and ${formatCount(skipped.length - MAX_LINES, 'more is', 'more are')} not loaded\n`)
  if (failures.length === 0) return
  if (file !== undefined) writeFileSync(file, failures.map((failure) => `${JSON.stringify(failure)}\n`).join(''))
  const isRefused = failures.some(({ reason }) => reason.startsWith('401'))
  throw new Error(printFailures(failures, file) + missingTokenHint(reason, isRefused))
}

/** Returns the text of the bar: resources sent, their rate, and the remaining time once it is known. */
function progressText(rate: LoadRate, total: number): string {
  const left = rate.left(total)
  return `${formatCount(rate.resources, 'resource')}, ${rate.rate()}/s${left === undefined ? '' : ` | ${left} left`}`
}

/** Creates the bar of the last phase, when everything is stored: the versions that searches do not find yet. */
function indexingBar() {
  const bar = new SingleBar({
    stream: ignoreStreamErrors(process.stderr),
    format: '{bar} {percentage}% | {left} still to be indexed',
    noTTYOutput: false,
  })
  let total = 0
  return {
    show(left: number, before: SingleBar): void {
      if (left === 0 && total === 0) return
      if (total === 0) {
        before.stop()
        bar.start(left, 0, { left })
      }
      total = Math.max(total, left)
      bar.setTotal(total)
      bar.update(total - left, { left })
    },
    stop(): void {
      if (total > 0) bar.stop()
    },
  }
}

/**
 * Empties the file for failures before anything is sent, so that an empty file means no failures. Throws if it cannot be written or is one
 * of the files to load.
 */
function beginFailures(file: string, sources: readonly SourceFile[]): void {
  try {
    writeFileSync(file, '', { flag: 'a' })
  } catch (error) {
    throw new Error(`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`)
  }
  const { dev, ino } = statSync(file)
  const isFailuresFile = (other: string): boolean => statSync(other).dev === dev && statSync(other).ino === ino
  if (sources.some((source) => isFailuresFile(source.file))) throw new Error(`${file} is to be loaded: write the failures elsewhere`)
  writeFileSync(file, '')
}

const MAX_LINES = 20

/** Prints the failures, equal reasons of a file once. Returns a summary with the number of failed resources. */
function printFailures(failures: readonly LoadFailure[], file: string | undefined): string {
  const alike = Map.groupBy(failures, ({ place, reason }) => `${fileOf(place)} ${reason}`)
  for (const { place, key, reason, others } of [...alike.values()].slice(0, MAX_LINES).map(firstOf))
    printError(`${toOneLine(`${[place, key].join(' ').trim()}: ${reason}`)}${others > 0 ? ` (and ${others} more of the file)` : ''}\n`)
  const failed = new Set(failures.map(({ place, key }) => `${place} ${key}`)).size
  if (alike.size <= MAX_LINES) return `${failed} failed`
  return `${failed} failed, the first ${MAX_LINES} reasons of ${alike.size} are shown${file === undefined ? ': --failures FILE writes all of them' : ''}`
}

const firstOf = (alike: readonly LoadFailure[]): LoadFailure & { readonly others: number } => ({ ...alike[0]!, others: alike.length - 1 })

/** Returns the file of a place, which is `file#entry`, `file:line` or `file:line#entry`. */
const fileOf = (place: string): string => place.replace(/(?::\d+)?(?:#\d+)?$/, '')
