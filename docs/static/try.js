// The page that runs the solver: a signal with its taut string, and an image.
"use strict";

(() => {
  const at = (id) => document.getElementById(id);
  const COLOURS = { grid: "#8884", samples: "#888", result: "#2563eb", tube: "#2563eb22" };
  const MOST_PIXELS = 512 * 512;
  const TOLERANCE = 1e-2;

  if (typeof loadSolver === "undefined") {
    at("try-missing").hidden = false;
    return;
  }

  // From 0 to `most`, finely where small.
  const lambdaOf = (slider, most) => most * (slider.value / 100) ** 3;
  const shown = (lam) => lam.toPrecision(3);

  /** Arrays of float in the solver's memory, made anew when a larger one is needed. */
  class Arrays {
    constructor(solver) {
      this.solver = solver;
      this.size = 0;
    }
    reserve(count) {
      if (count > this.size) {
        if (this.size) [this.x, this.y].forEach((place) => this.solver._free(place));
        [this.x, this.y] = [0, 1].map(() => this.solver._malloc(4 * count));
        this.size = count;
      }
    }
    /** Calls solve(x, y) with the places of two arrays, and returns a copy of the second. */
    through(values, solve) {
      this.reserve(values.length);
      this.solver.HEAPF32.set(values, this.x / 4);
      const answer = solve(this.x, this.y);
      const start = this.y / 4;
      return [this.solver.HEAPF32.slice(start, start + values.length), answer];
    }
  }

  // ---- the signal ----

  class Signal {
    constructor(solver) {
      this.solver = solver;
      this.arrays = new Arrays(solver);
      this.canvas = at("signal-canvas");
      this.chosen = 0;
      this.restart();
      for (const id of ["signal-lam", "signal-sharp"]) {
        at(id).addEventListener("input", () => this.solve());
      }
      at("signal-new").addEventListener("click", () => {
        this.restart();
        this.solve();
      });
      this.canvas.addEventListener("pointerdown", (event) => {
        this.canvas.setPointerCapture(event.pointerId);
        this.chosen = this.nearest(event);
        this.drag(event);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (event.buttons) this.drag(event);
      });
      this.canvas.addEventListener("keydown", (event) => this.press(event));
      this.solve();
    }
    restart() {
      const levels = [0.25, 0.75, 0.4, 0.6];
      const noise = () => 0.16 * (Math.random() + Math.random() - 1);
      this.x = Float32Array.from({ length: 60 }, (_, i) => levels[Math.floor(i / 15)] + noise());
    }
    nearest(event) {
      const box = this.canvas.getBoundingClientRect();
      const i = ((event.clientX - box.left) / box.width) * this.x.length;
      return Math.min(this.x.length - 1, Math.max(0, Math.floor(i)));
    }
    drag(event) {
      const box = this.canvas.getBoundingClientRect();
      this.move(1 - (event.clientY - box.top) / box.height);
    }
    move(value) {
      this.x[this.chosen] = Math.min(1, Math.max(0, value));
      this.solve();
    }
    press(event) {
      const last = this.x.length - 1;
      const moves = {
        ArrowLeft: () => (this.chosen = Math.max(0, this.chosen - 1)),
        ArrowRight: () => (this.chosen = Math.min(last, this.chosen + 1)),
        ArrowUp: () => this.move(this.x[this.chosen] + 0.02),
        ArrowDown: () => this.move(this.x[this.chosen] - 0.02),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
      this.draw();
    }
    solve() {
      this.lam = lambdaOf(at("signal-lam"), 4);
      const solve = (sharp) => (x, y) =>
        this.solver._smooth_signal(x, y, this.x.length, this.lam, sharp ? 1 : 0);
      [this.smooth] = this.arrays.through(this.x, solve(false));
      [this.y] = this.arrays.through(this.x, solve(at("signal-sharp").checked));
      this.draw();
    }
    draw() {
      at("signal-lam-shown").textContent = shown(this.lam);
      const segments = 1 + this.smooth.slice(1).filter((v, i) => v !== this.smooth[i]).length;
      const value = this.x[this.chosen].toFixed(2);
      at("signal-status").textContent =
        `${segments} segment${segments > 1 ? "s" : ""}; sample ${this.chosen + 1} is ${value}`;
      this.drawSignal();
      this.drawString();
    }
    drawSignal() {
      const { canvas, x, y } = this;
      const pen = canvas.getContext("2d");
      const step = canvas.width / x.length;
      const height = (value) => (1 - value) * canvas.height;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      x.forEach((value, i) => {
        pen.fillStyle = COLOURS.samples;
        const size = i === this.chosen ? 5 : 3;
        pen.beginPath();
        pen.arc((i + 0.5) * step, height(value), size, 0, 7);
        pen.fill();
      });
      pen.strokeStyle = COLOURS.result;
      pen.lineWidth = 2;
      pen.beginPath();
      y.forEach((value, i) => {
        pen.lineTo(i * step, height(value));
        pen.lineTo((i + 1) * step, height(value));
      });
      pen.stroke();
    }
    drawString() {
      const canvas = at("string-canvas");
      const pen = canvas.getContext("2d");
      const mean = this.x.reduce((sum, value) => sum + value, 0) / this.x.length;
      const sums = (values) => {
        let sum = 0;
        return [0, ...Array.from(values, (value) => (sum += value - mean))];
      };
      const middle = sums(this.x);
      const string = sums(this.smooth);
      const radius = (i) => (i === 0 || i === middle.length - 1 ? 0 : this.lam);
      const low = Math.min(...middle) - this.lam - 0.2;
      const high = Math.max(...middle) + this.lam + 0.2;
      const across = (i) => (i / (middle.length - 1)) * canvas.width;
      const up = (value) => ((high - value) / (high - low)) * canvas.height;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.fillStyle = COLOURS.tube;
      pen.beginPath();
      middle.forEach((value, i) => pen.lineTo(across(i), up(value + radius(i))));
      for (let i = middle.length - 1; i >= 0; --i) {
        pen.lineTo(across(i), up(middle[i] - radius(i)));
      }
      pen.fill();
      pen.fillStyle = COLOURS.samples;
      middle.forEach((value, i) => pen.fillRect(across(i) - 1, up(value) - 1, 2, 2));
      pen.strokeStyle = COLOURS.result;
      pen.lineWidth = 2;
      pen.beginPath();
      string.forEach((value, i) => pen.lineTo(across(i), up(value)));
      pen.stroke();
    }
  }

  // ---- the image ----

  class Picture {
    constructor(solver) {
      this.solver = solver;
      this.arrays = new Arrays(solver);
      this.show(scene());
      for (const id of ["image-lam", "image-direction", "image-sharp"]) {
        at(id).addEventListener("input", () => this.solveSoon());
      }
      at("image-file").addEventListener("change", (event) => this.open(event.target.files[0]));
    }
    async open(file) {
      if (!file) return;
      try {
        const bitmap = await createImageBitmap(file);
        const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (bitmap.width * bitmap.height)));
        const canvas = document.createElement("canvas");
        canvas.width = Math.max(1, Math.floor(bitmap.width * scale));
        canvas.height = Math.max(1, Math.floor(bitmap.height * scale));
        const pen = canvas.getContext("2d");
        pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
        this.show(pen.getImageData(0, 0, canvas.width, canvas.height));
      } catch (error) {
        at("image-status").textContent = `${file.name} cannot be read as an image`;
      }
    }
    show(pixels) {
      this.pixels = pixels;
      const { width, height } = pixels;
      for (const id of ["image-before", "image-after"]) Object.assign(at(id), { width, height });
      at("image-before").getContext("2d").putImageData(pixels, 0, 0);
      const count = width * height;
      this.x = new Float32Array(3 * count); // channel by channel, in [0, 1]
      for (let i = 0; i < 3 * count; ++i) {
        this.x[i] = pixels.data[4 * (i % count) + Math.floor(i / count)] / 255;
      }
      this.solve();
    }
    /** Solves once per frame, however fast the slider moves. */
    solveSoon() {
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => {
        this.waits = false;
        this.solve();
      });
    }
    solve() {
      const lam = lambdaOf(at("image-lam"), 1);
      const { width, height } = this.pixels;
      const direction = Number(at("image-direction").value);
      const sharp = at("image-sharp").checked ? 1 : 0;
      const began = performance.now();
      let iterations;
      [this.y, iterations] = this.arrays.through(this.x, (x, y) =>
        this.solver._smooth_image(x, y, 3, height, width, lam, direction, sharp, TOLERANCE)
      );
      this.milliseconds = performance.now() - began;
      at("image-lam-shown").textContent = shown(lam);
      const how = direction === 0 ? `${iterations} iterations` : "exact";
      at("image-status").textContent =
        `${width} x ${height} pixels in ${Math.round(this.milliseconds)} ms, ${how}`;
      const count = width * height;
      const result = new ImageData(width, height);
      for (let i = 0; i < 3 * count; ++i) {
        result.data[4 * (i % count) + Math.floor(i / count)] = Math.round(255 * this.y[i]);
      }
      for (let i = 0; i < count; ++i) result.data[4 * i + 3] = this.pixels.data[4 * i + 3];
      at("image-after").getContext("2d").putImageData(result, 0, 0);
    }
  }

  /** A house under the sun, with noise. */
  function scene() {
    const size = 256;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = size;
    const pen = canvas.getContext("2d");
    const sky = pen.createLinearGradient(0, 0, 0, size);
    sky.addColorStop(0, "#5b8fd6");
    sky.addColorStop(1, "#9cc0e8");
    const shapes = [
      [sky, () => pen.fillRect(0, 0, size, size)],
      ["#f7d64a", () => (pen.beginPath(), pen.arc(195, 60, 28, 0, 7), pen.fill())],
      ["#2c6b4f", () => pen.fillRect(0, 190, size, 70)],
      ["#b5452f", () => pen.fillRect(45, 110, 90, 85)],
      ["#6a2a22", () => (pen.beginPath(), pen.moveTo(35, 112), pen.lineTo(90, 65),
        pen.lineTo(145, 112), pen.fill())],
      ["#f3e9c8", () => pen.fillRect(75, 130, 30, 28)],
    ];
    for (const [colour, draw] of shapes) {
      pen.fillStyle = colour;
      draw();
    }
    const pixels = pen.getImageData(0, 0, size, size);
    for (let i = 0; i < pixels.data.length; ++i) {
      if (i % 4 < 3) pixels.data[i] += 60 * (Math.random() + Math.random() - 1);
    }
    return pixels;
  }

  loadSolver().then((solver) => {
    window.tautstringPage = { signal: new Signal(solver), picture: new Picture(solver) };
  });
})();
