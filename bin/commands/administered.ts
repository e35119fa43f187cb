/** What the commands share that say who may use a server. */
import { existsSync, readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type Administration, hasData, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { dataFolderAt } from '../../lambdas/runtime/control/server-socket.ts'
import { warn } from '../output.ts'
import { dataOption, portOption, type ServerOptions, serverLocationOf } from './options.ts'

export type ServerLocationOptions = ServerOptions & { readonly stage?: string }

/** With the options that say which server is meant. */
export const withLocationOptions = (command: Command): Command =>
  command
    .addOption(dataOption('data folder of the server, which may be running'))
    .addOption(portOption())
    .addOption(
      new Option('--stage <name>', 'the server deployed on AWS as this stage, with your own credentials').conflicts(['data', 'port']),
    )

export const jsonOption = (what: string): Option => new Option('--json', `print ${what} as JSON`)

/** A value of an option that may be there several times. */
export const collectOption = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** `isNew`: there may be no data yet; that it is made is told. */
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

async function settingsOfStage(stage: string) {
  const { serviceEnvironmentOf: serviceEnvironment, settingsOf } = await import('../../lib/settings/settings.ts')
  const usual = `.fhir/${stage}.settings.json`
  const settings = settingsOf({ ...(existsSync(usual) ? JSON.parse(readFileSync(usual, 'utf8')) : {}), stage })
  return { region: settings.region, config: readConfig(serviceEnvironment(settings)) }
}

/** Where its stores are, by what `npm run deploy` has written down. */
export async function readStageDeployment(stage: string) {
  const { region, config } = await settingsOfStage(stage)
  const { StateTableName: stateTable, BucketName: bucket } = outputsOf(stage)
  if (stateTable === undefined) throw new Error(`.fhir/${stage}.json does not name the table of state: deploy the stage again`)
  return { stage, region, stateTable, bucket, auditRetentionDays: config.auditRetentionDays }
}

async function openStage(stage: string): Promise<Administration> {
  const { bucket: _, ...deployed } = await readStageDeployment(stage)
  const { openDeploymentAdministration: openDeployment } = await import('../../lambdas/runtime/aws/administration.ts')
  return openDeployment(deployed)
}

/** Of the stack of what lasts. */
function outputsOf(stage: string): Readonly<Record<string, string>> {
  const file = `.fhir/${stage}.json`
  if (!existsSync(file)) throw new Error(`There is no ${file}, which npm run deploy writes: run it, or copy the file from where it was run`)
  const outputs = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Readonly<Record<string, string>>>>
  return outputs[`fhir-${stage}-data`] ?? {}
}

/** What a server would only say when somebody comes: whether one on this machine keeps tenants is known to who starts it. */
export async function warnOfTenants({ stage }: ServerLocationOptions, who: string, tenants: readonly string[]): Promise<void> {
  if (tenants.some((tenant) => tenant === 'default' || tenant === '*')) return
  const { tenancy } = stage === undefined ? readConfig() : (await settingsOfStage(stage)).config
  if (!tenancy) warn(`${who} is let in only where the server is started with FHIR_TENANCY=on: else there is no tenant but "default"`)
}

/** Columns as wide as what is in them. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}
