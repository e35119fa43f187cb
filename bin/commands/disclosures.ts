/** `fhir disclosures`: prints what partners received about members. */
import { Command, Option } from 'commander'
import { type Disclosure, type DisclosureFilter, readDisclosures } from '../../lambdas/runtime/control/disclosures.ts'
import { print, printInTurn, toOneLine, warn } from '../output.ts'
import { jsonOption, openDisclosureRecords, type ServerLocationOptions, withLocationOptions } from './administration.ts'
import { parseTime } from './audit.ts'
import { withExamples } from './options.ts'

type Options = ServerLocationOptions & DisclosureFilter & { readonly json?: boolean }

const COLUMNS = ['AT', 'KIND', 'PARTNER', 'TENANT', 'PATIENT', 'OUTCOME', 'BY', 'JOB', 'RESOURCES OF THE JOB']
const WIDTHS = [24, 6, 16, 10, 20, 16, 24, 36, 0]

/** Returns a line of the table. A cell that is longer than its column moves the later cells. */
const lineOf = (cells: readonly string[]): string =>
  `${cells
    .map((cell, i) => toOneLine(cell).padEnd(WIDTHS[i]!))
    .join('  ')
    .trimEnd()}\n`

const cellsOf = ({ at, kind, partner, tenant, patient = '', outcome, rule, grounds, job, types = {} }: Disclosure): readonly string[] => [
  ...[
    new Date(at).toISOString(),
    kind,
    partner,
    tenant,
    patient,
    rule === undefined ? outcome : `${outcome} (${rule})`,
    grounds.join(' '),
    job,
  ],
  Object.entries(types)
    .map(([type, count]) => `${type} ${count}`)
    .join(', '),
]

const INSTANTS: ReadonlySet<string> = new Set(['at', 'since', 'until', 'windowStart'])

const jsonOf = (disclosure: Disclosure): string =>
  `${JSON.stringify(disclosure, (name, value) => (INSTANTS.has(name) ? new Date(value).toISOString() : value))}\n`

const disclosures = new Command('disclosures')
  .description(
    'print what partners received about members by matches, exports and tokens, by tenant and time. Records must match all given options',
  )
  .option('--patient <id>', 'disclosures of this patient')
  .option('--partner <id>', 'disclosures to this partner')
  .option('--job <id>', 'disclosures of this export or match, or of this token (column JOB)')
  .option('--tenant <name>', 'disclosures of this tenant')
  .addOption(new Option('--from <time>', 'from this date or time on, or from 30m, 12h or 7d ago (default: all)').argParser(parseTime))
  .addOption(new Option('--to <time>', 'before this date or time (default: now)').argParser(parseTime))
  .addOption(jsonOption('whole records, one a line,'))

export const disclosuresCommand = withExamples(withLocationOptions(disclosures), [
  'npm run -s fhir -- disclosures --partner other-payer --patient 1',
  'npm run -s fhir -- disclosures --partner other-payer --from 2026-01-01 --to 2026-02-01 --json',
]).action(async (options: Options) => {
  const { json, tenant, partner, job, from, to } = options
  const patient = options.patient?.replace(/^Patient\//, '')
  const given = Object.entries({ tenant, patient, partner, job, from, to }).filter(([, value]) => value !== undefined)
  const records = await openDisclosureRecords(options)
  let count = 0
  for await (const disclosure of readDisclosures(records, Object.fromEntries(given))) {
    if (count++ === 0 && !json) print(lineOf(COLUMNS))
    if (!(await printInTurn(json ? jsonOf(disclosure) : lineOf(cellsOf(disclosure))))) return
  }
  if (count === 0) warn('no disclosure matches')
})
