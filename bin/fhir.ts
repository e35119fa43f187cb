/** Command line of the FHIR server: `fhir COMMAND`. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { errorMessageOf, warn } from './output.ts'

/** Loaders of the command modules. Only the requested command is imported, so that `load` does not wait for the server code. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./commands/start.ts')).startCommand,
  load: async () => (await import('./commands/load.ts')).loadCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  client: async () => (await import('./commands/client.ts')).clientCommand,
  partner: async () => (await import('./commands/partner.ts')).partnerCommand,
  user: async () => (await import('./commands/user.ts')).userCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  package: async () => (await import('./commands/package.ts')).packageCommand,
  audit: async () => (await import('./commands/audit.ts')).auditCommand,
  disclosures: async () => (await import('./commands/disclosures.ts')).disclosuresCommand,
  usage: async () => (await import('./commands/usage.ts')).usageCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  launch: async () => (await import('./commands/launch.ts')).launchCommand,
  token: async () => (await import('./commands/token.ts')).tokenCommand,
  'accept-clock': async () => (await import('./commands/accept-clock.ts')).acceptClockCommand,
  redrive: async () => (await import('./commands/redrive.ts')).redriveCommand,
  reindex: async () => (await import('./commands/reindex.ts')).reindexCommand,
  restore: async () => (await import('./commands/restore.ts')).restoreCommand,
}

// Makes every file of the process private to its owner. SQLite has no setting of its own for that.
process.umask(0o077)

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string }
const program = new Command('fhir')
  .description('A FHIR R4 server in one process: start it, load it, back it up, register clients and users')
  .version(version)
  .showHelpAfterError()
const readCommand = COMMANDS[process.argv[2] ?? '']
for (const command of readCommand === undefined ? Object.values(COMMANDS) : [readCommand]) program.addCommand(await command())

try {
  await program.parseAsync()
} catch (error) {
  warn(errorMessageOf(error))
  process.exitCode = 1
}
