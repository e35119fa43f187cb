/** Operator command that reads which data of members a running server considers sensitive. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import type { SensitiveLabels } from '../../partners/consent/payer-consent.ts'
import { queryServerAt, type ServerLocation } from './server-socket.ts'

export type { SensitiveLabels }

/** Returns the setting `sensitiveLabels` of the server, or undefined if none runs at the location. */
export async function sensitiveLabelsAt(place: ServerLocation): Promise<SensitiveLabels | undefined> {
  const answer = await queryServerAt(place, 'sensitive-labels', '')
  return answer === undefined ? undefined : (JSON.parse(answer) as SensitiveLabels)
}

/** Returns the server's handler for the command `sensitive-labels`. */
export const labelCommands = (labels: SensitiveLabels): Readonly<Record<'sensitive-labels', CommandHandler>> => ({
  'sensitive-labels': async () => JSON.stringify(labels),
})
