/** `fhir audit`: prints the audit records of a server. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { DeploymentAuditReader } from '../../lambdas/runtime/aws/administration.ts'
import {
  type AuditFilter,
  type AuditReader,
  type AuditRecord,
  auditLineOf,
  openAuditReader,
} from '../../lambdas/runtime/control/administration.ts'
import { dataFolderAt } from '../../lambdas/runtime/control/server-socket.ts'
import { print, printInTurn, toOneLine, warn } from '../output.ts'
import { jsonOption, readStageDeployment, type ServerLocationOptions, withLocationOptions } from './administration.ts'
import { serverLocationOf, withExamples } from './options.ts'

/** `since`, `until`: in milliseconds since 1970. */
type Options = ServerLocationOptions & AuditFilter & { readonly since?: number; readonly until?: number; readonly json?: boolean }

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the instant in milliseconds since 1970: that of a date or time, or so many minutes, hours or days ago. */
export function parseTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return Date.now() - Number(count) * UNITS[unit]!
  const time = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(time))
    throw new InvalidArgumentError('Expected a date (2026-01-31), a time (2026-01-31T08:00:00Z), or an age (30m, 12h, 7d).')
  return time
}

const COLUMNS = ['AT', 'STATUS', 'INTERACTION', 'WHAT', 'TENANT', 'CLIENT', 'USER']
const WIDTHS = [24, 6, 18, 40, 10, 16, 0]

/** Returns a line. A cell that is longer than its column moves the others. */
const lineOf = (cells: readonly string[]): string =>
  `${cells
    .map((cell, i) => toOneLine(cell).padEnd(WIDTHS[i]!))
    .join('  ')
    .trimEnd()}\n`

const cellsOf = ({
  at,
  status,
  interaction,
  key,
  type,
  job,
  tenant,
  client,
  user,
  operator,
  part,
  parts,
}: AuditRecord): readonly string[] => [
  new Date(at).toISOString(),
  String(status),
  parts === undefined ? interaction : `${interaction} (${part} of ${parts})`,
  key ?? type ?? job ?? '',
  tenant,
  client ?? '',
  user ?? operator ?? '',
]

async function printRecords(reader: AuditReader, { since, until, json, ...options }: Options): Promise<void> {
  const period = { from: since ?? Date.now() - UNITS.d!, to: until ?? Date.now() + 1 }
  const { tenant, client, user } = options
  const patient = options.patient?.replace(/^Patient\//, '')
  const filter = Object.fromEntries(Object.entries({ tenant, client, user, patient }).filter(([, value]) => value !== undefined))
  let count = 0
  for await (const record of reader.read(period, filter)) {
    if (count++ === 0 && !json) print(lineOf(COLUMNS))
    const isRead = await printInTurn(json ? auditLineOf(record) : lineOf(cellsOf(record)))
    if (!isRead) return
  }
  if (count === 0) warn(`no request from ${new Date(period.from).toISOString()} to ${new Date(period.to).toISOString()} matches`)
}

/** Warns if the period begins before the first archived day: records from before that day expire in the table, and no archive has them. */
async function warnAboutArchive({ archiveStart }: DeploymentAuditReader, { since }: Options, retentionDays: number): Promise<void> {
  const start = since === undefined ? undefined : await archiveStart()
  if (start === undefined || since! >= start) return
  const day = new Date(start).toISOString().slice(0, 10)
  warn(`the archive of the stage begins on ${day}. Earlier records are removed after ${retentionDays} days`)
}

const audit = new Command('audit')
  .description('print audit records of requests and commands, oldest day first. Records must match all given options')
  .option('--patient <id>', 'requests that showed, wrote or named this patient')
  .option('--client <id>', 'requests of this client')
  .option('--user <name>', 'requests of the user with this login name')
  .option('--tenant <name>', 'requests to this tenant')
  .addOption(
    new Option(
      '--since <time>',
      'from this date or time on, or from 30m, 12h or 7d ago (default: a day ago). On AWS a day takes about half a minute',
    ).argParser(parseTime),
  )
  .addOption(new Option('--until <time>', 'before this date or time (default: now)').argParser(parseTime))
  .addOption(jsonOption('whole records, one a line,'))

export const auditCommand = withExamples(withLocationOptions(audit), [
  'npm run -s fhir -- audit --patient 1 --since 30d',
  'npm run -s fhir -- audit --client reporting --since 2026-01-01 --until 2026-02-01 --json',
]).action(async (options: Options) => {
  if (options.stage !== undefined) {
    const { openDeploymentAuditReader } = await import('../../lambdas/runtime/aws/administration.ts')
    const deployment = await readStageDeployment(options.stage)
    const reader = openDeploymentAuditReader(deployment)
    try {
      await printRecords(reader, options)
      await warnAboutArchive(reader, options, deployment.auditRetentionDays)
    } finally {
      reader.close()
    }
    return
  }
  const folder = await dataFolderAt(serverLocationOf(options))
  const onDamaged = (file: string, line: number): void => warn(`${file}: line ${line} is damaged and left out`)
  await printRecords(await openAuditReader(folder, onDamaged), options)
})
