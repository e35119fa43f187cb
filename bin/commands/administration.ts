/** Shared parts of the commands that administer a server. */
import { existsSync, readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { StageTable } from '../../lambdas/runtime/backup/stage.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type Administration, hasData, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { type DisclosureRecords, openDisclosures } from '../../lambdas/runtime/control/disclosures.ts'
import { type ServerSettings, serverSettingsAt } from '../../lambdas/runtime/control/server-settings.ts'
import { dataFolderAt } from '../../lambdas/runtime/control/server-socket.ts'
import { warn } from '../output.ts'
import { dataOption, portOption, type ServerOptions, serverLocationOf } from './options.ts'

export type ServerLocationOptions = ServerOptions & { readonly stage?: string }

/** Adds the options that select the server: a data folder, a port, or a stage on AWS. */
export const withLocationOptions = (command: Command): Command =>
  command
    .addOption(dataOption('data folder of the server, which may be running'))
    .addOption(portOption())
    .addOption(stageOption().conflicts('port'))

/** Selects a stage in place of a data folder. */
export const stageOption = (): Option =>
  new Option('--stage <name>', 'the server deployed on AWS as this stage, with your own credentials').conflicts('data')

export const jsonOption = (content: string): Option => new Option('--json', `print ${content} as JSON`)

/** Appends a value of an option that may be repeated. */
export const collectOption = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/**
 * Runs `work` on the administration of the selected server and closes it afterwards. `isNew`: creates a missing data folder or store, and
 * warns of that.
 */
export async function withAdministration<T>(
  place: ServerLocationOptions,
  work: (ports: Administration) => Promise<T>,
  isNew = false,
): Promise<T> {
  if (place.stage !== undefined) return closing(await openStage(place.stage), work)
  const folder = await dataFolderAt(serverLocationOf(place))
  const isThere = hasData(folder)
  const result = await closing(await openAdministration(folder, { isNew }), work)
  if (!isThere) warn(`there was no data in ${folder}, and it is made, for a server that is started with --data ${folder}`)
  return result
}

async function closing<T>(ports: Administration, work: (ports: Administration) => Promise<T>): Promise<T> {
  try {
    return await work(ports)
  } finally {
    await ports.close()
  }
}

async function readStageSettings(stage: string) {
  const { serviceEnvironmentOf: serviceEnvironment, settingsOf } = await import('../../lib/settings/settings.ts')
  const usual = `.fhir/${stage}.settings.json`
  const settings = settingsOf({ ...(existsSync(usual) ? JSON.parse(readFileSync(usual, 'utf8')) : {}), stage })
  return { settings, region: settings.region, config: readConfig(serviceEnvironment(settings)) }
}

/** Returns the region and the stores of a stage. Their names come from the file that `npm run deploy` wrote. */
export async function readStageDeployment(stage: string) {
  const { region, config } = await readStageSettings(stage)
  const {
    StateTableName: stateTable,
    ResourceTableName: resourceTable,
    BucketName: bucket,
    AuditBucketName: auditBucket,
  } = outputsOf(stage)
  const { auditRetentionDays } = config
  const required = { stateTable: requireOutput(stage, 'the table of state', stateTable) }
  return { stage, region, ...required, resourceTable, bucket, auditRetentionDays, ...(auditBucket === undefined ? {} : { auditBucket }) }
}

/** Opens the records of disclosures of the selected server. */
export async function openDisclosureRecords(place: ServerLocationOptions): Promise<DisclosureRecords> {
  if (place.stage === undefined) return openDisclosures(await dataFolderAt(serverLocationOf(place)))
  const { region, bucket } = await readStageDeployment(place.stage)
  const { openDeploymentDisclosures } = await import('../../lambdas/runtime/aws/administration.ts')
  return openDeploymentDisclosures({ region, bucket: requireOutput(place.stage, 'the bucket', bucket) })
}

/** Returns the table of the resources of a stage, and what its functions know of it. */
export async function readStageTable(stage: string): Promise<StageTable> {
  const [{ settings, region }, { DEFAULT_SHARDS }] = await Promise.all([
    readStageSettings(stage),
    import('../../lib/settings/index-shards.ts'),
  ])
  const { ResourceTableName: resourceTable, BucketName: bucket } = outputsOf(stage)
  if (resourceTable === undefined || bucket === undefined)
    throw new Error(`.fhir/${stage}.json does not name the table of the resources and the bucket: deploy the stage again`)
  return { stage, region, resourceTable, bucket, indexShards: { ...DEFAULT_SHARDS, ...settings.capacity.shards } }
}

async function openStage(stage: string): Promise<Administration> {
  const { bucket: _, ...deployed } = await readStageDeployment(stage)
  const { openDeploymentAdministration: openDeployment } = await import('../../lambdas/runtime/aws/administration.ts')
  return openDeployment(deployed)
}

/** Returns an output of a stage. Throws Error if it is missing, because an earlier release deployed the stage. `what`: its name in the message. */
export function requireOutput(stage: string, what: string, value: string | undefined): string {
  if (value === undefined) throw new Error(`.fhir/${stage}.json does not name ${what}: deploy the stage again`)
  return value
}

/** Returns the outputs of the stage's data stack. */
function outputsOf(stage: string): Readonly<Record<string, string>> {
  const file = `.fhir/${stage}.json`
  if (!existsSync(file)) throw new Error(`There is no ${file}, which npm run deploy writes: run it, or copy the file from where it was run`)
  const outputs = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Readonly<Record<string, string>>>>
  return outputs[`fhir-${stage}-data`] ?? {}
}

/**
 * Warns if the server has no tenancy and the tenants are therefore unusable. The server itself would report that only at the first request.
 */
export async function warnAboutTenants(place: ServerLocationOptions, holder: string, tenants: readonly string[]): Promise<void> {
  if (tenants.some((tenant) => tenant === 'default' || tenant === '*')) return
  const { tenancy } = await readServerSettings(place)
  if (!tenancy) warn(`${holder} is accepted only by a server with FHIR_TENANCY=on: without it the only tenant is "default"`)
}

/** Returns settings of the selected server. Without a running server they come from this environment. */
export async function readServerSettings(place: ServerLocationOptions): Promise<ServerSettings> {
  if (place.stage !== undefined) return (await readStageSettings(place.stage)).config
  return (await serverSettingsAt(serverLocationOf(place))) ?? readConfig()
}

/** Returns the rows as lines. Each column is as wide as its widest cell. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}
