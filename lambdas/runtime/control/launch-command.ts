/** Command by which an operator launches an app. The running server checks the launch against its stored resources. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import type { LaunchRequest } from './authorization-types.ts'
import { noServerMessage, queryServerAt, type ServerLocation } from './server-socket.ts'

/**
 * Requests a launch and returns the value of the app's `launch` parameter. Throws an Error with the reason if no server runs or the server
 * refuses.
 */
export async function requestLaunchAt(place: ServerLocation, launched: LaunchRequest): Promise<string> {
  const token = await queryServerAt(place, 'launch', JSON.stringify(launched))
  if (token === undefined)
    throw new Error(`${noServerMessage(place)}: start it, because a launch is valid for ten minutes and only on a running server`)
  return token
}

/** Returns the server's handler for the command `launch`. */
export const launchCommands = ({
  launch,
}: {
  readonly launch: (launched: LaunchRequest) => Promise<string>
}): Readonly<Record<'launch', CommandHandler>> => ({
  launch: (argument) => launch(JSON.parse(argument) as LaunchRequest),
})
