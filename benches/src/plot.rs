//! Plots as SVG, on a white ground so that they can be read on a dark page, too.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Panels side by side, two to a row.
pub struct Plot<'p> {
    /// What is shown.
    pub title: &'p str,
    /// The panels, row by row.
    pub panels: Vec<Panel<'p>>,
}

/// Lines over common axes.
pub struct Panel<'p> {
    /// What these lines show.
    pub title: &'p str,
    /// From left to right.
    pub x: Axis<'p>,
    /// From bottom to top.
    pub y: Axis<'p>,
    /// The lines, in the legend's order.
    pub lines: Vec<Line<'p>>,
    /// Where no line is.
    pub legend: Legend,
}

/// Where the legend stands.
#[derive(Clone, Copy)]
pub enum Legend {
    /// Above lines that rise.
    UpperLeft,
    /// Below lines that rise, and above any along the axis.
    LowerRight,
}

/// What is on an axis, with its unit.
#[derive(Clone)]
pub struct Axis<'p> {
    /// Beside the axis.
    pub label: &'p str,
    /// From where to where; of powers, the exponents.
    pub range: Range<f64>,
    /// How numbers are written.
    pub write: fn(f64) -> String,
}

/// One subject's figures.
pub struct Line<'p> {
    /// In the legend.
    pub name: &'p str,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

impl Plot<'_> {
    /// Draws it into a file.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Box<dyn Error>> {
        let rows = self.panels.len().div_ceil(2);
        let columns = self.panels.len().min(2);
        let size = (u32::try_from(columns)? * WIDTH, u32::try_from(rows)? * HEIGHT + TITLE);
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            area.fill(&WHITE)?;
            let area = area.titled(self.title, ("sans-serif", 22))?;
            for (panel, area) in self.panels.iter().zip(area.split_evenly((rows, columns))) {
                panel.draw(&area)?;
            }
            area.present()?;
        }
        let path = path.as_ref();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, svg)?;
        Ok(())
    }
}

impl Panel<'_> {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 17))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(62)
            .build_cartesian_2d(self.x.range.clone(), self.y.range.clone())?;
        chart
            .configure_mesh()
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .x_label_formatter(&|number| (self.x.write)(*number))
            .y_label_formatter(&|number| (self.y.write)(*number))
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 15))
            .light_line_style(WHITE)
            .draw()?;
        for (line, color) in self.lines.iter().zip(COLORS) {
            let style = ShapeStyle { color: color.to_rgba(), filled: true, stroke_width: 2 };
            // Dots where there are few of them.
            let size = if line.points.len() > MOST_DOTS { 0 } else { 3 };
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(size))?
                .label(line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(self.legend.position())
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(170, 170, 170))
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    }
}

impl Legend {
    fn position(self) -> SeriesLabelPosition {
        match self {
            Self::UpperLeft => SeriesLabelPosition::UpperLeft,
            Self::LowerRight => SeriesLabelPosition::Coordinate(300, 195),
        }
    }
}

impl<'p> Axis<'p> {
    /// Plain numbers.
    pub const fn new(label: &'p str, range: Range<f64>) -> Self {
        Self { label, range, write: |number| format!("{number}") }
    }

    /// The same with numbers written another way.
    #[must_use]
    pub const fn written(mut self, write: fn(f64) -> String) -> Self {
        self.write = write;
        self
    }
}

/// Of a panel, in pixels.
const WIDTH: u32 = 560;
const HEIGHT: u32 = 400;
/// Of the title above all panels.
const TITLE: u32 = 40;

const MOST_DOTS: usize = 40;

/// Told apart by people who see some colours alike (Okabe and Ito's, without yellow).
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(90, 90, 90),
    RGBColor(86, 180, 233),
];
