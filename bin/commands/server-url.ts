/** Selects the server for a load, an export or a reindex. */
import type { Command } from 'commander'
import { baseUrlOfServer, noServerMessage } from '../../lambdas/runtime/control/server-socket.ts'

/** Base URL of a server that was started with default options. */
const USUAL = 'http://127.0.0.1:8080/fhir'

export const BASE_URL_HELP = `base URL of the server (default: of the one that runs on the data folder, else "${USUAL}")`

/**
 * Returns the base URL of the server. `url`: URL of the option, which wins. Throws if --data names a folder without a responding server,
 * so that no data goes to another server.
 */
export async function selectBaseUrl(url: string | undefined, command: Command): Promise<string> {
  if (url !== undefined) return url
  const folder: string = command.getOptionValue('data')
  if (command.getOptionValueSource('data') === 'default') return (await baseUrlOfServer({ folder }).catch(() => undefined)) ?? USUAL
  const base = await baseUrlOfServer({ folder })
  if (base === undefined) throw new Error(`${noServerMessage({ folder })}: start one, or give its base URL`)
  return base
}
