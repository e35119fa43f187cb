/**
 * Links to export files that carry their own proof, for a home that hands out the files itself. The key never leaves it.
 * https://www.rfc-editor.org/rfc/rfc2104
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ExportFile, ExportUrlSigner } from '../../ports/blobs/file-links.ts'

/** What a link says. `expires`: seconds since 1970. */
export type SignedLink = ExportFile & { readonly expires: number; readonly signature: string }

export type LinkSigner = ExportUrlSigner & {
  /** Whether it was made here, as it is. That it may have expired is another question. */
  readonly check: (link: SignedLink) => boolean
}

/** `key`: a secret of the server; what is derived from it serves nothing else. `baseUrl`: without a slash at the end. */
export function linkSigner(key: Uint8Array, baseUrl: string): LinkSigner {
  const own = createHmac('sha256', key).update('links to export files').digest()
  const proofOf = ({ job, file, client }: ExportFile, expires: number): Buffer =>
    createHmac('sha256', own)
      .update(JSON.stringify([job, file, client, expires]))
      .digest()
  return {
    async sign(file, expires) {
      const seconds = Math.floor(expires / 1000)
      const query = new URLSearchParams({
        client: file.client,
        expires: String(seconds),
        signature: proofOf(file, seconds).toString('base64url'),
      })
      return `${baseUrl}/export-files/${file.job}/${file.file}.ndjson?${query}`
    },
    check({ signature, expires, ...file }) {
      const [proof, given] = [proofOf(file, expires), Buffer.from(signature, 'base64url')]
      return given.length === proof.length && timingSafeEqual(given, proof) && given.toString('base64url') === signature
    },
  }
}
