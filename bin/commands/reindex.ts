/** `fhir reindex`: has what searches go by made again. */
import { Command } from 'commander'
import { type Progress, reindex } from '../load/reindex.ts'
import { complain, oneLine, say } from '../output.ts'
import { type Asked, authorizedTo, noToken, withAsked } from './authorize.ts'
import { withExamples } from './options.ts'

const command = withAsked(
  new Command('reindex')
    .description('rebuild the search index and wait until it is complete; searches continue meanwhile')
    .argument('[types...]', 'resource types; all without one'),
  { whose: 'documents', scopes: 'system/admin' },
).action(run)

export const reindexCommand = withExamples(command, [
  'npm run -s fhir -- reindex Patient Observation',
  'npm run -s fhir -- reindex --to https://a1b2c3.execute-api.us-east-1.amazonaws.com/fhir --sigv4',
])

async function run(types: readonly string[], asked: Asked, command: Command): Promise<void> {
  const { base, authorize, why } = await authorizedTo(asked, command)
  let before = ''
  const onProgress = (rebuilds: readonly Progress[]): void => {
    const now = rebuilds.map(lineOf).join(', ')
    if (now !== before) complain(`${oneLine(now)}\n`)
    before = now
  }
  await reindex({ base, types, onProgress, ...(authorize === undefined ? {} : { authorize }) }).catch((error: Error) => {
    throw new Error(error.message + noToken(why, /^40[13]/.test(error.message)))
  })
  say(`The documents of ${types.length === 0 ? 'all types' : types.join(', ')} are indexed again\n`)
}

const lineOf = ({ type, done, total }: Progress): string => (total === undefined ? type : `${type} ${done} of ${total}`)
