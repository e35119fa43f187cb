/**
 * Sends a stored file: whole, in part, compressed, or as 304 if the client already has it.
 * https://www.rfc-editor.org/rfc/rfc9110#section-14
 */
import { FhirError } from '../../fhir/outcome.ts'
import { toHttpDate as httpDate } from '../../fhir/version.ts'
import type { FhirResponse, StoredFile } from '../../interactions/interaction.ts'
import { isNotModified, matchesIfRange, parseByteRange } from '../byte-range.ts'
import type { ByteStream, HttpRequest, Step } from '../exchange.ts'
import { acceptsGzip, gzipStream, MIN_GZIP_BYTES } from '../response-compression.ts'

export const sendFile: Step = {
  after(request) {
    const { event, response } = request
    const { file, ...rest } = response as FhirResponse
    if (file !== undefined) request.response = { ...rest, ...fileAnswer(event.http, file) }
  },
}

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly stream?: ByteStream }

/** Returns the status, headers and stream for a file. Throws FhirError 416 for a range outside the file. */
function fileAnswer({ headers, isHead }: HttpRequest, file: StoredFile): Answer {
  const [etag, etagOfGzip] = [`"${file.tag}"`, `"${file.tag}-gzip"`]
  const common = { 'last-modified': httpDate(file.written), 'accept-ranges': 'bytes', vary: 'Accept-Encoding' }
  const isGzip = acceptsGzip(headers['accept-encoding']) && file.size >= MIN_GZIP_BYTES
  const validators = { etags: [etag, etagOfGzip], lastModified: common['last-modified'] }
  if (isNotModified(headers, validators)) return { status: 304, headers: { ...common, etag: isGzip ? etagOfGzip : etag } }
  const typed = { ...common, 'content-type': file.contentType, 'content-disposition': `attachment; filename="${file.name}"` }
  // Ranges are sent uncompressed. So an If-Range with the ETag of the compressed file does not match, and the whole file is sent.
  const isPart = isHead !== true && matchesIfRange(headers['if-range'], { ...validators, etags: [etag] })
  const range = isPart ? parseByteRange(headers.range, file.size) : undefined
  if (range === 'beyond') throw beyond(file.size)
  if (range !== undefined) {
    const [from, to] = range
    const contentRange = `bytes ${from}-${to - 1}/${file.size}`
    return { status: 206, headers: { ...typed, etag, 'content-range': contentRange }, stream: streamOf(file, from, to) }
  }
  const whole = streamOf(file, 0, file.size)
  if (!isGzip) return { status: 200, headers: { ...typed, etag }, stream: whole }
  const stream = { pieces: () => gzipStream(whole.pieces()) }
  return { status: 200, headers: { ...typed, etag: etagOfGzip, 'content-encoding': 'gzip' }, stream }
}

const streamOf = ({ read }: StoredFile, from: number, to: number): ByteStream => ({ length: to - from, pieces: () => read(from, to) })

const beyond = (size: number): FhirError =>
  new FhirError(416, [{ severity: 'error', code: 'value', text: `The file has ${size} bytes: there is no such part of it` }], {
    'content-range': `bytes */${size}`,
    'accept-ranges': 'bytes',
  })
