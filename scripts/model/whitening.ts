/**
 * Linear algebra of the model build, with additions, multiplications, divisions and square roots
 * only: IEEE 754 defines those to the last bit, so the result is the same on every machine.
 */

/** Rows of numbers, one after another. */
export interface Matrix {
  data: Float64Array;
  rows: number;
  columns: number;
}

/** How a projection scales its directions: not at all, by variance^(-1/4), or by variance^(-1/2) (whitening). */
export type Scaling = "none" | "half" | "full";

const SMALLEST_VARIANCE = 1e-8;

/**
 * Centres rows on their weighted mean and projects them on their `dimensions` strongest directions.
 * `weights` sum to 1 and stand for how often each row is used.
 */
export function project(matrix: Matrix, weights: Float64Array, dimensions: number, scaling: Scaling): Matrix {
  const { rows, columns } = matrix;
  const mean = weightedMean(matrix, weights);
  const { values, vectors } = eigen(covariance(matrix, weights, mean), columns);
  const order = [...values.keys()].sort((a, b) => (values[b] as number) - (values[a] as number)).slice(0, dimensions);
  const projected = new Float64Array(rows * dimensions);
  const basis = new Float64Array(columns * dimensions);
  order.forEach((direction, k) => {
    const scale = 1 / scaleOf(Math.max(values[direction] as number, SMALLEST_VARIANCE), scaling);
    for (let a = 0; a < columns; a++) basis[a * dimensions + k] = (vectors[a * columns + direction] as number) * scale;
  });
  for (let i = 0; i < rows; i++) {
    for (let a = 0; a < columns; a++) {
      const x = (matrix.data[i * columns + a] as number) - (mean[a] as number);
      for (let k = 0; k < dimensions; k++) {
        const at = i * dimensions + k;
        projected[at] = (projected[at] as number) + x * (basis[a * dimensions + k] as number);
      }
    }
  }
  return { data: projected, rows, columns: dimensions };
}

function scaleOf(variance: number, scaling: Scaling): number {
  if (scaling === "none") return 1;
  return scaling === "full" ? Math.sqrt(variance) : Math.sqrt(Math.sqrt(variance));
}

function weightedMean({ data, rows, columns }: Matrix, weights: Float64Array): Float64Array {
  const mean = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    const w = weights[i] as number;
    for (let a = 0; a < columns; a++) mean[a] = (mean[a] as number) + w * (data[i * columns + a] as number);
  }
  return mean;
}

function covariance({ data, rows, columns }: Matrix, weights: Float64Array, mean: Float64Array): Float64Array {
  const result = new Float64Array(columns * columns);
  const x = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    for (let a = 0; a < columns; a++) x[a] = (data[i * columns + a] as number) - (mean[a] as number);
    for (let a = 0; a < columns; a++) {
      const wx = (weights[i] as number) * (x[a] as number);
      const row = a * columns;
      for (let b = a; b < columns; b++) result[row + b] = (result[row + b] as number) + wx * (x[b] as number);
    }
  }
  for (let a = 0; a < columns; a++) {
    for (let b = 0; b < a; b++) result[a * columns + b] = result[b * columns + a] as number;
  }
  return result;
}

const MAX_SWEEPS = 60;
const CONVERGED = 1e-20;
const NEGLIGIBLE = 1e-15;

/** Eigenvalues and, column by column, eigenvectors of a symmetric matrix (cyclic Jacobi); destroys it. */
export function eigen(matrix: Float64Array, n: number): { values: Float64Array; vectors: Float64Array } {
  const vectors = new Float64Array(n * n);
  for (let i = 0; i < n; i++) vectors[i * n + i] = 1;
  for (let sweep = 0; sweep < MAX_SWEEPS && offDiagonal(matrix, n) > CONVERGED; sweep++) {
    for (let a = 0; a < n; a++) {
      for (let b = a + 1; b < n; b++) rotate(matrix, vectors, n, a, b);
    }
  }
  return { values: Float64Array.from({ length: n }, (_, i) => matrix[i * n + i] as number), vectors };
}

/** One Jacobi rotation: makes the element (a, b) zero. */
function rotate(matrix: Float64Array, vectors: Float64Array, n: number, a: number, b: number): void {
  const element = matrix[a * n + b] as number;
  if (Math.abs(element) < NEGLIGIBLE) return;
  const theta = ((matrix[b * n + b] as number) - (matrix[a * n + a] as number)) / (2 * element);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  const turn = (array: Float64Array, p: number, q: number) => {
    const x = array[p] as number;
    const y = array[q] as number;
    array[p] = cosine * x - sine * y;
    array[q] = sine * x + cosine * y;
  };
  for (let k = 0; k < n; k++) turn(matrix, k * n + a, k * n + b);
  for (let k = 0; k < n; k++) turn(matrix, a * n + k, b * n + k);
  for (let k = 0; k < n; k++) turn(vectors, k * n + a, k * n + b);
}

function offDiagonal(matrix: Float64Array, n: number): number {
  let sum = 0;
  for (let a = 0; a < n; a++) {
    for (let b = a + 1; b < n; b++) {
      const x = matrix[a * n + b] as number;
      sum += x * x;
    }
  }
  return sum;
}

/** Scales all rows by one factor so that their root mean square length is 1; in place. */
export function unitLength(matrix: Matrix): Matrix {
  let squares = 0;
  for (const x of matrix.data) squares += x * x;
  const scale = Math.sqrt(matrix.rows / squares);
  for (let i = 0; i < matrix.data.length; i++) matrix.data[i] = (matrix.data[i] as number) * scale;
  return matrix;
}
