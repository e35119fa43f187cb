/**
 * Signed links to export files, for the embedded deployment, which serves the files itself. The signing key never leaves the server.
 * https://www.rfc-editor.org/rfc/rfc2104
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ExportFile, ExportUrlSigner } from '../../ports/blobs/file-links.ts'

/** Content of a link. `expires`: seconds since 1970. */
export type SignedLink = ExportFile & { readonly expires: number; readonly signature: string }

export type LinkSigner = ExportUrlSigner & {
  /** Whether this server signed exactly this link. Does not check its expiry. */
  readonly check: (link: SignedLink) => boolean
}

/** `key`: secret of the server. The signing key derived from it has no other use. `baseUrl`: without a trailing slash. */
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
      const [proof, received] = [proofOf(file, expires), Buffer.from(signature, 'base64url')]
      return received.length === proof.length && timingSafeEqual(received, proof) && received.toString('base64url') === signature
    },
  }
}
