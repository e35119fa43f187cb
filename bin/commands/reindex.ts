/** `fhir reindex`: has what searches go by made again. */
import { Command } from 'commander'
import { type Progress, reindex } from '../../lambdas/runtime/load/reindex.ts'
import { complain, oneLine, say } from '../output.ts'
import { type As, authorizeAs } from './authorize.ts'
import { baseUrl, dataOption, sigv4Option, withExamples } from './options.ts'
import { BASE, baseMeant } from './server-meant.ts'

type Options = Omit<As, 'to'> & { readonly to?: string }

const command = new Command('reindex')
  .description('have the documents that searches go by made again, and wait until they are; searches go on meanwhile')
  .argument('[types...]', 'resource types; all without one')
  .option('--to <url>', BASE, baseUrl)
  .addOption(dataOption('data folder of the server, where it runs here: it gives the token'))
  .option('--tenant <name>', 'whose documents, where each tenant has its own (default: "default")')
  .option('--client <id>', 'a client that is registered with the server, for system/admin')
  .option('--secret-file <file>', 'the secret of the client; - for standard input')
  .addOption(sigv4Option())
  .action(run)

export const reindexCommand = withExamples(command, [
  'npm run -s fhir -- reindex Patient Observation',
  'npm run -s fhir -- reindex --to https://a1b2c3.execute-api.us-east-1.amazonaws.com/fhir --sigv4',
])

async function run(types: readonly string[], options: Options, command: Command): Promise<void> {
  const to = await baseMeant(options.to, command)
  const { authorize, why } = await authorizeAs({ ...options, to })
  let before = ''
  const onProgress = (rebuilds: readonly Progress[]): void => {
    const now = rebuilds.map(lineOf).join(', ')
    if (now !== before) complain(`${oneLine(now)}\n`)
    before = now
  }
  await reindex({ base: to, types, onProgress, ...(authorize === undefined ? {} : { authorize }) }).catch((error: Error) => {
    const hint = why !== undefined && /^40[13]/.test(error.message) ? ` (no token was sent: ${why})` : ''
    throw new Error(error.message + hint)
  })
  say(`The documents of ${types.length === 0 ? 'all types' : types.join(', ')} are made again\n`)
}

const lineOf = ({ type, done, total }: Progress): string => (total === undefined ? type : `${type} ${done} of ${total}`)
