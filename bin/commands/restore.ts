/** `fhir restore`: replaces the resources of a data folder by those of a backup, or fills an empty folder with a backup of everything. */
import { statSync } from 'node:fs'
import { Command } from 'commander'
import { restoreStore } from '../../lambdas/runtime/control/backup-command.ts'
import { restoreFolder } from '../../lambdas/runtime/control/full-backup.ts'
import { print, warn } from '../output.ts'
import { dataOption, withExamples } from './options.ts'

const restore = new Command('restore')
  .description(
    'replace all resources by those of a backup, also while the server runs; or fill an empty data folder from a backup of everything',
  )
  .argument('<path>', 'file written by backup, or folder written by backup --all')
  .addOption(dataOption('data folder of the server'))
  .action(async (path: string, { data }: { readonly data: string }) => {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      await restoreFolder(data, path, warn)
      return print(
        `${path} is restored in ${data}: start the server with its previous base URL, because issued tokens are valid only for it\n`,
      )
    }
    const how = await restoreStore(data, path, warn)
    print(
      `${path} is restored in ${data}${how === 'running' ? '; its server goes on with it, and answers searches once all of it is indexed' : ''}\n`,
    )
  })

export const restoreCommand = withExamples(restore, [
  'npm run -s fhir -- restore monday --data /var/lib/fhir',
  'npm run -s fhir -- restore monday.db',
])
