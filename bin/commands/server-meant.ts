/** Which server files are loaded into, or exported from. */
import type { Command } from 'commander'
import { baseUrlOfServer, noServerMessage } from '../../lambdas/runtime/control/server-socket.ts'

/** Where a server listens when nothing else is said. */
const USUAL = 'http://127.0.0.1:8080/fhir'

export const BASE_URL_HELP = `base URL of the server (default: of the one that runs on the data folder, else "${USUAL}")`

/** `named`: by the option. Error where a data folder is named on which none runs, or can be asked: nothing goes to another one. */
export async function selectBaseUrl(named: string | undefined, command: Command): Promise<string> {
  if (named !== undefined) return named
  const folder: string = command.getOptionValue('data')
  if (command.getOptionValueSource('data') === 'default') return (await baseUrlOfServer({ folder }).catch(() => undefined)) ?? USUAL
  const base = await baseUrlOfServer({ folder })
  if (base === undefined) throw new Error(`${noServerMessage({ folder })}: start one, or give its base URL`)
  return base
}
