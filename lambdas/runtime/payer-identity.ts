/** Payer that runs the server, as its exports for partners name it. */
import type { TransmittingPayer } from '../partners/disclosures/transmissions.ts'
import type { Config } from './config.ts'

export function transmittingPayerOf({
  payer: [identifier],
  organizationName,
}: Pick<Config, 'payer' | 'organizationName'>): TransmittingPayer {
  const name = organizationName === '' ? 'Payer' : organizationName
  return identifier === undefined ? { name } : { name, identifier }
}
