/** Command by which an operator confirms that the clock of a running server is right. */
import { type CommandHandler, startServerCommand } from '../../adapters/filesystem/command-socket.ts'

export async function acceptClock(folder: string): Promise<void> {
  const done = await startServerCommand(folder, 'accept-clock', '')
  if (done === undefined) throw new Error(`No server runs on ${folder}`)
  done()
}

/** Returns the server's handler for the command `accept-clock`. */
export const clockCommands = (clock: { readonly accept: () => void }): Readonly<Record<'accept-clock', CommandHandler>> => ({
  'accept-clock': async () => clock.accept(),
})
