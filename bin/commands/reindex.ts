/** `fhir reindex`: rebuilds the search index and waits until it is complete. */
import { Command } from 'commander'
import { type ReindexProgress, reindex } from '../load/reindex.ts'
import { print, printError, toOneLine } from '../output.ts'
import { missingTokenHint, resolveServerAccess, type ServerAccessOptions, withServerAccessOptions } from './authorize.ts'
import { withExamples } from './options.ts'

const command = withServerAccessOptions(
  new Command('reindex')
    .description('rebuild the search index and wait until it is complete; searches continue meanwhile')
    .argument('[types...]', 'resource types; all without one'),
  { tenantOwner: 'the documents', scopes: 'system/admin' },
).action(run)

export const reindexCommand = withExamples(command, [
  'npm run -s fhir -- reindex Patient Observation',
  'npm run -s fhir -- reindex --to https://a1b2c3.execute-api.us-east-1.amazonaws.com/fhir --sigv4',
])

async function run(types: readonly string[], options: ServerAccessOptions, command: Command): Promise<void> {
  const { base, authorize, reason } = await resolveServerAccess(options, command)
  let before = ''
  const onProgress = (rebuilds: readonly ReindexProgress[]): void => {
    const now = rebuilds.map(lineOf).join(', ')
    if (now !== before) printError(`${toOneLine(now)}\n`)
    before = now
  }
  await reindex({ base, types, onProgress, ...(authorize === undefined ? {} : { authorize }) }).catch((error: Error) => {
    throw new Error(error.message + missingTokenHint(reason, /^40[13]/.test(error.message)))
  })
  print(`The documents of ${types.length === 0 ? 'all types' : types.join(', ')} are indexed again\n`)
}

const lineOf = ({ type, done, total }: ReindexProgress): string => (total === undefined ? type : `${type} ${done} of ${total}`)
