/** `fhir usage`: prints how many members' data were transferred to apps in a year, as US payers report it. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { openAuditReader } from '../../lambdas/runtime/control/administration.ts'
import { readDisclosures } from '../../lambdas/runtime/control/disclosures.ts'
import { plansAt } from '../../lambdas/runtime/control/member-plans.ts'
import { dataFolderAt } from '../../lambdas/runtime/control/server-socket.ts'
import {
  countByPlan,
  countDisclosures,
  countTransfers,
  openTransferReader,
  type PatientAccessUsage,
  type PlanUsage,
  requestsAsTransfers,
  type TransferReader,
  type UsageCounts,
} from '../../lambdas/runtime/control/usage.ts'
import { print, toOneLine, warn } from '../output.ts'
import {
  formatTable,
  jsonOption,
  openDisclosureRecords,
  readStageDeployment,
  type ServerLocationOptions,
  withLocationOptions,
} from './administration.ts'
import { serverLocationOf, withExamples } from './options.ts'

type Options = ServerLocationOptions & {
  readonly year: number
  readonly tenant?: string
  readonly by: 'day' | 'request'
  readonly byPlan?: boolean
  readonly json?: boolean
}

function parseYear(text: string): number {
  if (!/^20\d{2}$/.test(text)) throw new InvalidArgumentError('Expected a year, such as 2026.')
  return Number(text)
}

const usage = new Command('usage')
  .description('count the patients whose data apps received in a year by tokens of users, as 42 CFR 422.119(f) requires of US payers')
  .addOption(new Option('--year <year>', 'year (UTC)').argParser(parseYear).makeOptionMandatory())
  .option('--tenant <name>', 'transfers of this tenant only')
  .addOption(
    new Option(
      '--by <unit>',
      'what counts as a transfer: each day on which an app received data of a patient, or each request, as far as audit records are retained',
    )
      .choices(['day', 'request'])
      .default('day'),
  )
  .addOption(
    new Option(
      '--by-plan',
      'also count by current plan of the patients (Coverage.class); requires a running embedded server. A patient with several plans counts in each',
    ).conflicts('stage'),
  )
  .addOption(jsonOption('the counts'))

export const usageCommand = withExamples(withLocationOptions(usage), [
  'npm run -s fhir -- usage --year 2026',
  'npm run -s fhir -- usage --year 2026 --tenant north --json',
  'npm run -s fhir -- usage --year 2026 --by-plan',
]).action(async (options: Options) => {
  if (options.stage === undefined) return printUsage(await readerOf(options), options)
  const aws = await import('../../lambdas/runtime/aws/administration.ts')
  const deployment = await readStageDeployment(options.stage)
  const isByRequest = options.by === 'request'
  const reader = isByRequest ? aws.openDeploymentAuditReader(deployment) : aws.openDeploymentTransferReader(deployment)
  try {
    await printUsage('archiveStart' in reader ? requestsAsTransfers(reader) : reader, options)
  } finally {
    reader.close()
  }
})

async function readerOf(options: Options): Promise<TransferReader> {
  const folder = await dataFolderAt(serverLocationOf(options))
  const onDamaged = (file: string, line: number): void => warn(`${file}: line ${line} is damaged and skipped`)
  return options.by === 'request' ? requestsAsTransfers(await openAuditReader(folder, onDamaged)) : openTransferReader(folder, onDamaged)
}

async function printUsage(transfers: TransferReader, options: Options): Promise<void> {
  const { year, tenant, by, byPlan, json } = options
  const patientAccess = await countTransfers(transfers.read(year), tenant)
  const plans = byPlan ? await countByPlan(transfers.read(year), plansAt(serverLocationOf(options)), tenant) : undefined
  const period = { from: Date.UTC(year, 0), to: Date.UTC(year + 1, 0), ...(tenant === undefined ? {} : { tenant }) }
  const partners = await countDisclosures(readDisclosures(await openDisclosureRecords(options), period))
  const selected = { year, ...(tenant === undefined ? {} : { tenant }), by }
  if (json) return print(`${JSON.stringify({ ...selected, patientAccess, ...(plans === undefined ? {} : { plans }), partners })}\n`)
  print(formatTable([['PERIOD', 'PATIENTS', 'MORE THAN ONCE', 'APPS'], ...rowsOf(String(year), patientAccess)]))
  if (plans !== undefined) print(`\n${planTableOf(plans)}`)
  if (partners.length === 0) return
  const rows = partners.map(({ partner, ...counts }) => [partner, ...[counts.requests, counts.matched, counts.exported].map(String)])
  print(`\n${formatTable([['PARTNER', 'REQUESTS', 'MEMBERS MATCHED', 'MEMBERS EXPORTED'], ...rows])}`)
}

const rowsOf = (year: string, { months, ...total }: PatientAccessUsage): readonly (readonly string[])[] => [
  cellsOf(year, total),
  ...months.map(({ month, ...counts }) => cellsOf(month, counts)),
]

const planTableOf = (plans: readonly PlanUsage[]): string =>
  formatTable([['PLAN', 'PATIENTS', 'MORE THAN ONCE', 'APPS'], ...plans.map(({ plan, ...counts }) => cellsOf(toOneLine(plan), counts))])

const cellsOf = (period: string, { enrollees, repeated, apps }: UsageCounts): readonly string[] => [
  period,
  ...[enrollees, repeated, apps].map(String),
]
