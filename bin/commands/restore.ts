/**
 * `fhir restore`: replaces the resources of a data folder by those of a backup, fills an empty folder with a backup of everything, or adds the
 * resources of a backup to a stage.
 */
import { statSync } from 'node:fs'
import { Command } from 'commander'
import { describeCounts, type TotalCount, totalOf } from '../../lambdas/runtime/backup/backup-format.ts'
import { restoreStore } from '../../lambdas/runtime/control/backup-command.ts'
import { restoreFolder } from '../../lambdas/runtime/control/full-backup.ts'
import { print, printError, warn } from '../output.ts'
import { readStageTable, stageOption } from './administration.ts'
import { dataOption, withExamples } from './options.ts'

type Options = { readonly data: string; readonly stage?: string }

const restore = new Command('restore')
  .description(
    'replace all resources by those of a backup, also while the server runs; or fill an empty data folder from a backup of everything; or fill a stage from S3',
  )
  .argument('<path>', 'file written by backup, folder written by backup --all, or s3://BUCKET/PREFIX')
  .addOption(dataOption('data folder of the server'))
  .addOption(stageOption())
  .action(async (path: string, options: Options) => {
    if (/^s3:/.test(path)) return restoreVersions(path, options)
    const { data, stage } = options
    if (stage !== undefined) throw new Error(`A stage is restored from S3: s3://BUCKET/PREFIX in place of ${path}`)
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      await restoreFolder(data, path, warn)
      return print(
        `${path} is restored in ${data}: start the server with its previous base URL, because issued tokens are valid only for it\n`,
      )
    }
    print(restoredLine(path, data, await restoreStore(data, path, warn)))
  })

export const restoreCommand = withExamples(restore, [
  'npm run -s fhir -- restore monday --data /var/lib/fhir',
  'npm run -s fhir -- restore monday.db',
  'npm run -s fhir -- restore s3://my-backups/monday --stage dev',
])

const restoredLine = (path: string, data: string, server: 'running' | 'stopped'): string =>
  `${path} is restored in ${data}${server === 'running' ? '; its server goes on with it, and answers searches once all of it is indexed' : ''}\n`

async function restoreVersions(path: string, { data, stage }: Options): Promise<void> {
  const { openS3Location } = await import('../../lambdas/runtime/backup/s3-location.ts')
  const onProgress = (counts: TotalCount, versions: number): void =>
    printError(`${describeCounts(counts)} restored, of ${versions} versions\n`)
  if (stage === undefined) {
    const { restoreFolderVersions } = await import('../../lambdas/runtime/backup/folder.ts')
    return print(restoredLine(path, data, await restoreFolderVersions(data, openS3Location(path), warn, onProgress)))
  }
  const { restoreStage } = await import('../../lambdas/runtime/backup/stage.ts')
  const table = await readStageTable(stage)
  const { counts } = await restoreStage(table, openS3Location(path, table.region), onProgress)
  print(`${path} is restored in the stage ${stage}: ${describeCounts(totalOf(counts))}\n`)
}
