/** How an operator launches an app on a server that runs, which looks at what it keeps. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import type { LaunchRequest } from './authorization-types.ts'
import { noServerMessage, queryServerAt, type ServerLocation } from './server-socket.ts'

/** What the app is given. Error: why there is nothing. */
export async function requestLaunchAt(place: ServerLocation, launched: LaunchRequest): Promise<string> {
  const token = await queryServerAt(place, 'launch', JSON.stringify(launched))
  if (token === undefined) throw new Error(`${noServerMessage(place)}: a launch counts for ten minutes, of one that runs`)
  return token
}

/** What a server does for it. */
export const launchCommands = ({
  launch,
}: {
  readonly launch: (launched: LaunchRequest) => Promise<string>
}): Readonly<Record<'launch', CommandHandler>> => ({
  launch: (argument) => launch(JSON.parse(argument) as LaunchRequest),
})
