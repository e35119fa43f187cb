/** `fhir backup`: writes a consistent copy of a data folder, or of its resources alone, also while its server runs; or of a stage's resources. */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { describeCounts, type Manifest, type TotalCount, totalOf } from '../../lambdas/runtime/backup/backup-format.ts'
import { backupStore } from '../../lambdas/runtime/control/backup-command.ts'
import { backupFolder } from '../../lambdas/runtime/control/full-backup.ts'
import { print, printError, warn } from '../output.ts'
import { readStageTable, stageOption } from './administration.ts'
import { dataOption, withExamples } from './options.ts'

type Options = { readonly data: string; readonly stage?: string; readonly all?: boolean }

const backup = new Command('backup')
  .description(
    'copy all resources with their histories into one file or into S3, or everything into a folder; the server may go on running',
  )
  .argument('<path>', 'file to write, with --all a folder; must not exist. Or s3://BUCKET/PREFIX, where an interrupted backup continues')
  .option('--all', 'also clients, users, their grants, keys, packages and audit records: what a server needs to run again elsewhere')
  .addOption(dataOption('data folder of the server'))
  .addOption(stageOption().conflicts('all'))
  .action(async (path: string, { data, stage, all }: Options) => {
    if (/^s3:/.test(path)) return backupVersions(path, { data, ...(stage === undefined ? {} : { stage }) }, all)
    if (stage !== undefined) throw new Error(`A stage is saved in S3: s3://BUCKET/PREFIX in place of ${path}`)
    if (existsSync(path)) throw new Error(`${path} exists already`)
    await (all ? backupFolder : backupStore)(data, path, warn)
    print(`${data} is saved in ${path}${all ? '; guard it like the data folder: it holds signing keys and password digests' : ''}\n`)
  })

export const backupCommand = withExamples(backup, [
  'npm run -s fhir -- backup --all monday',
  'npm run -s fhir -- backup monday.db',
  'npm run -s fhir -- backup s3://my-backups/monday --stage dev',
])

async function backupVersions(path: string, { data, stage }: Pick<Options, 'data' | 'stage'>, all = false): Promise<void> {
  if (all) throw new Error('--all writes a folder: S3 gets the resources only')
  const { openS3Location } = await import('../../lambdas/runtime/backup/s3-location.ts')
  const onProgress = (counts: TotalCount): void => printError(`${describeCounts(counts)} saved\n`)
  const saved = (from: string, { counts }: Manifest): void => print(`${from} is saved in ${path}: ${describeCounts(totalOf(counts))}\n`)
  if (stage === undefined) {
    const { backupFolderVersions } = await import('../../lambdas/runtime/backup/folder.ts')
    return saved(data, await backupFolderVersions(data, openS3Location(path), warn, { onProgress }))
  }
  const { backupStage } = await import('../../lambdas/runtime/backup/stage.ts')
  const table = await readStageTable(stage)
  saved(`The stage ${stage}`, await backupStage(table, openS3Location(path, table.region), onProgress))
}
