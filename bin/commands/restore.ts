/** `fhir restore`: replaces the resources of a data folder by those of a backup. */
import { Command } from 'commander'
import { restoreStore } from '../../lambdas/runtime/control/backup-command.ts'
import { print, warn } from '../output.ts'
import { dataOption, withExamples } from './options.ts'

const restore = new Command('restore')
  .description('replace all resources by those of a backup, also while the server runs')
  .argument('<file>', 'file written by backup')
  .addOption(dataOption('data folder of the server'))
  .action(async (file: string, { data }: { readonly data: string }) => {
    const how = await restoreStore(data, file, warn)
    print(
      `${file} is restored in ${data}${how === 'running' ? '; its server goes on with it, and answers searches once all of it is indexed' : ''}\n`,
    )
  })

export const restoreCommand = withExamples(restore, ['npm run -s fhir -- restore monday.db'])
