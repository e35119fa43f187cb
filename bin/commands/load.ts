/** `fhir load`: fills a server from files. */
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import { load } from '../../lambdas/runtime/load/load.ts'
import { sourcesOf } from '../../lambdas/runtime/load/read-files.ts'
import { complain, lenient, say } from '../output.ts'

type Options = { readonly to: string; readonly concurrency: number }

export const loadCommand = new Command('load')
  .description('load Bundles, resources and NDJSON, each also as .gz, into a server; safe to run again')
  .argument('<paths...>', 'files, and folders with .json, .ndjson, .json.gz and .ndjson.gz files')
  .option('--to <url>', 'base URL of the server', base, 'http://127.0.0.1:8080/fhir')
  .option('--concurrency <number>', 'Bundles under way at once', concurrency, 4)
  .action(run)

function base(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('A URL that begins with http: or https:.')
  return text.replace(/\/+$/, '')
}

function concurrency(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('A number from 1 to 99.')
  return Number(text)
}

const SHOWN = 20

async function run(paths: readonly string[], { to, concurrency }: Options): Promise<void> {
  const sources = sourcesOf(paths)
  const size = sources.reduce((sum, source) => sum + source.size, 0)
  const bar = new SingleBar({
    stream: lenient(process.stderr),
    format: '{bar} {percentage}% | {resources} resources, {rate}/s | {eta_formatted} left',
    noTTYOutput: false,
  })
  const began = performance.now()
  let sent = 0
  const rate = (): number => Math.round((sent * 1000) / (performance.now() - began))
  bar.start(size, 0, { resources: 0, rate: 0 })
  const { resources, failures } = await load(sources, {
    base: to,
    concurrency,
    onProgress(progress) {
      sent += progress.resources
      bar.increment(progress.bytes, { resources: sent, rate: rate() })
    },
  }).finally(() => bar.stop())
  say(`${resources} resources of ${sources.length} files loaded, ${rate()} a second\n`)
  if (failures.length === 0) return
  for (const { place, key, reason } of failures.slice(0, SHOWN)) complain(`${[place, key].join(' ').trim()}: ${reason}\n`)
  throw new Error(`${failures.length} failed${failures.length > SHOWN ? `, the first ${SHOWN} are shown` : ''}`)
}
