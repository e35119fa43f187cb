/** The command line of the embedded home. */
import { Command } from 'commander'
import { backupCommand } from './commands/backup.ts'
import { loadCommand } from './commands/load.ts'
import { restoreCommand } from './commands/restore.ts'
import { startCommand } from './commands/start.ts'

const program = new Command('fhir')
  .description('A FHIR R4 server in one process: starts it, loads it, saves it')
  .showHelpAfterError()
  .addCommand(startCommand, { isDefault: true })
  .addCommand(loadCommand)
  .addCommand(backupCommand)
  .addCommand(restoreCommand)

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`fhir: ${(error as Error).message}\n`)
  process.exitCode = 1
}
