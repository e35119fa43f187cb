/** How an operator launches an app on a server that runs, which looks at what it keeps. */
import type { Command } from '../../adapters/filesystem/command-socket.ts'
import type { Launched } from './authorization-types.ts'
import { heardAt, nobodyAt, type Place } from './server-socket.ts'

/** What the app is given. Error: why there is nothing. */
export async function launchAt(place: Place, launched: Launched): Promise<string> {
  const token = await heardAt(place, 'launch', JSON.stringify(launched))
  if (token === undefined) throw new Error(`${nobodyAt(place)}: a launch counts for ten minutes, of one that runs`)
  return token
}

/** What a server does for it. */
export const launchCommands = ({
  launch,
}: {
  readonly launch: (launched: Launched) => Promise<string>
}): Readonly<Record<'launch', Command>> => ({
  launch: (argument) => launch(JSON.parse(argument) as Launched),
})
