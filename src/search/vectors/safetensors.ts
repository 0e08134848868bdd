/** The most bytes of a header, by the format. */
const MAX_HEADER_BYTES = 100_000_000;
const LENGTH_BYTES = 8;

/** A tensor of a safetensors file, with its numbers converted. */
export interface Tensor {
  shape: readonly number[];
  data: Float32Array;
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

type Reader = (view: DataView, at: number) => number;

/** The size of each type in bytes, and how to read it. */
const READERS: Readonly<Record<string, [bytes: number, read: Reader]>> = {
  F64: [8, (view, at) => view.getFloat64(at, true)],
  F32: [4, (view, at) => view.getFloat32(at, true)],
  F16: [2, (view, at) => view.getFloat16(at, true)],
  I64: [8, (view, at) => Number(view.getBigInt64(at, true))],
  I32: [4, (view, at) => view.getInt32(at, true)],
  I8: [1, (view, at) => view.getInt8(at)],
};

/**
 * Reads the tensors of a safetensors file: eight bytes of length, a JSON header with the place of each
 * tensor, and their numbers.
 * @throws an error that says what is wrong
 */
export function readSafetensors(bytes: Uint8Array): Map<string, Tensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = bytes.byteLength < LENGTH_BYTES ? 0 : Number(view.getBigUint64(0, true));
  if (headerBytes === 0 || headerBytes > MAX_HEADER_BYTES || LENGTH_BYTES + headerBytes > bytes.byteLength) {
    throw new Error("not a safetensors file");
  }
  const start = LENGTH_BYTES + headerBytes;
  const header = parseHeader(bytes.subarray(LENGTH_BYTES, start));
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__") tensors.set(name, readTensor(view, start, name, entry));
  }
  return tensors;
}

function parseHeader(bytes: Uint8Array): Record<string, Entry> {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("not a safetensors file: its header is not JSON");
  }
}

function readTensor(view: DataView, start: number, name: string, entry: Entry): Tensor {
  const { dtype, shape, data_offsets } = entry ?? {};
  if (!isWhole(shape) || !isWhole(data_offsets) || data_offsets.length !== 2) {
    throw new Error(`the header of tensor ${name} is not valid`);
  }
  const reader = READERS[dtype];
  if (reader === undefined) throw new Error(`tensor ${name} has numbers of type ${dtype}, which is not supported`);
  const [size, read] = reader;
  const count = shape.reduce((product, n) => product * n, 1);
  const [from, to] = data_offsets;
  if (to - from !== count * size || start + to > view.byteLength) {
    throw new Error(`tensor ${name} is not within the file, which may be cut short`);
  }
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = read(view, start + from + i * size);
  return { shape, data };
}

/** Reports whether this is a list of non-negative integers. */
const isWhole = (list: unknown): list is number[] =>
  Array.isArray(list) && list.every((number) => Number.isSafeInteger(number) && number >= 0);
