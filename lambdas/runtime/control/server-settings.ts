/** Operator command that reads settings of a running server. The environment of the operator may have others. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import type { Config } from '../config.ts'
import { queryServerAt, type ServerLocation } from './server-socket.ts'

export type ServerSettings = Pick<Config, 'tenancy' | 'sensitiveLabels'>

/** Returns the settings of the server, or undefined if none runs at the location. */
export async function serverSettingsAt(place: ServerLocation): Promise<ServerSettings | undefined> {
  const answer = await queryServerAt(place, 'settings', '')
  return answer === undefined ? undefined : (JSON.parse(answer) as ServerSettings)
}

/** Returns the server's handler for the command `settings`. */
export const settingsCommands = ({ tenancy, sensitiveLabels }: ServerSettings): Readonly<Record<'settings', CommandHandler>> => ({
  settings: async () => JSON.stringify({ tenancy, sensitiveLabels } satisfies ServerSettings),
})
