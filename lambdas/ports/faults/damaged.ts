import { MachineFault } from './machine-error.ts'

/**
 * Stored data cannot be read as it was written: bytes on the disk have changed, or the disk does not return them. Nothing is invented in
 * their place. The message has no content of resources.
 */
export class Damaged extends MachineFault {
  override readonly name = 'Damaged'
  override readonly fault: 'store-damaged' | 'index-damaged'
  readonly part: 'store' | 'index'

  constructor(part: 'store' | 'index', message: string, options?: ErrorOptions) {
    super(message, options)
    this.part = part
    this.fault = `${part}-damaged`
  }
}
