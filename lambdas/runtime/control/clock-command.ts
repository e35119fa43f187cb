/** How who runs a server tells it that its clock is right. */
import { type CommandHandler, startServerCommand } from '../../adapters/filesystem/command-socket.ts'

export async function acceptClock(folder: string): Promise<void> {
  const done = await startServerCommand(folder, 'accept-clock', '')
  if (done === undefined) throw new Error(`No server runs on ${folder}`)
  done()
}

/** What a server does for it. */
export const clockCommands = (clock: { readonly accept: () => void }): Readonly<Record<'accept-clock', CommandHandler>> => ({
  'accept-clock': async () => clock.accept(),
})
